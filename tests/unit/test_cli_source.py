"""What a source on the command line is taken for."""

import pytest

from fyke.cli.source import kind_of
from fyke.core.errors import Invalid


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("https://a.test/", "site"),
        ("https://a.test", "site"),
        ("https://a.test/x", "page"),
        ("https://a.test/sitemap_index.xml", "sitemap"),
        ("https://a.test/list.txt.gz", "sitemap"),
    ],
)
def test_an_address_is_guessed_by_its_path(source: str, kind: str) -> None:
    assert kind_of(source, None) == kind
    assert kind_of(source, "page") == "page"


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("example.com", "https://example.com/"),
        ("example.com/shop?x=1", "https://example.com/shop?x=1"),
        ("localhost:8000", "https://localhost:8000/"),
        ("nowhere.txt", None),
        ("nowhere.csv.gz", None),
        ("nowhere", None),
        ("lists/example.com", None),
    ],
)
def test_an_address_without_its_scheme_is_no_file(source: str, meant: str | None) -> None:
    with pytest.raises(Invalid) as raised:
        kind_of(source, None)
    found, _, said = raised.value.message.partition("; ")
    assert found == f"there is no file {source!r}"
    assert said == (f"if the site is meant: {meant}" if meant else "")


def test_nothing_is_no_source() -> None:
    with pytest.raises(Invalid, match="SOURCE is empty"):
        kind_of(" ", None)
