"""Two spellings of one address are equal in canonical form, and two addresses are not."""

import pytest

from fyke.core.urls import canonical, is_utf8, with_bytes

PAGE = "http://shop.example/p/1"


@pytest.mark.parametrize(
    "spelling",
    [
        "HTTP://Shop.Example:80/p/1",
        "http://shop.example/p/%31",
        "http://shop.example/%70/1#top",
        "http://shop.example/p/1?",
        "http://shop.example/p/1?#top",
        "http://shop.example/q/../p/./1",
        " http://shop.example/p/1\n",
    ],
)
def test_spellings_of_one_address(spelling: str) -> None:
    assert canonical(spelling) == PAGE


def test_half_a_character_is_spelled_out() -> None:
    assert not is_utf8("http://a.test/\ud800")
    assert with_bytes("a\ud800") == "a\\ud800"
    assert with_bytes("caf\udce9") == "caf\\xe9"


@pytest.mark.parametrize(
    ("spelling", "form"),
    [
        ("http://shop.example/%c3%a4", "http://shop.example/%C3%A4"),
        ("http://shop.example/ä", "http://shop.example/%C3%A4"),
        ("http://shop.example/%7euser?q=%2d%2F", "http://shop.example/~user?q=-%2F"),
        ("http://shop.example/a%2fb", "http://shop.example/a%2Fb"),  # no separator of its path
        ("http://shop.example/?a=1%26b=2", "http://shop.example/?a=1%26b=2"),
        ("http://shop.example/100%", "http://shop.example/100%"),
        ("http://shop.example/%25%33%31", "http://shop.example/%2531"),
        ("http://shop.example/?b=1&a=2", "http://shop.example/?b=1&a=2"),
    ],
)
def test_what_an_escape_means_stays(spelling: str, form: str) -> None:
    assert canonical(spelling) == form
    assert canonical(form) == form
