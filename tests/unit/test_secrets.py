"""What people read has no credentials in it."""

import pytest

from fyke.core.secrets import hide_login, redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://bob:pw@a.test/x", "http://***@a.test/x"),
        ("http://token@a.test/x", "http://***@a.test/x"),
        ("'ftp://bob:pw@a.test' is not http", "'ftp://***@a.test' is not http"),
        ("//bob:pw@a.test", "//***@a.test"),
        (r"HTTP:\\bob:pw@a.test", r"HTTP:\\***@a.test"),
        ("http:bob:pw@a.test/", "http:***@a.test/"),
        ("https:/bob:pw@a.test/", "https:/***@a.test/"),
        ("http://bob:p@w@a.test/", "http://***@a.test/"),
        ("http://[bob:pw@a.test", "http://***@a.test"),
        ("postgres://me:p?w#x@db/fyke", "postgres://***@db/fyke"),
        ("http://b:pw@a.test/ and http://c:pw@d.test", "http://***@a.test/ and http://***@d.test"),
    ],
)
def test_a_login_is_hidden_wherever_a_browser_sees_one(text: str, shown: str) -> None:
    assert hide_login(text) == shown
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no URL",
        "bob@a.test",
        "http://a.test/@bob",
        "http://a.test/x?mail=bob@a.test",
        "http://a.test?mail=bob@a.test",
        "http://a.test#@b.test",
        "http://a.test:80/x@y",
    ],
)
def test_what_is_no_login_stays(text: str) -> None:
    assert redact(text) == text


def test_keys_in_queries_are_redacted() -> None:
    assert redact("http://a.test/?a=1&api_key=s3cret&b=2") == "http://a.test/?a=1&api_key=***&b=2"
    assert hide_login("http://a.test/?token=s3cret") == "http://a.test/?token=s3cret"
