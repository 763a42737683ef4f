"""What people read has no credentials in it."""

from time import monotonic

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
        ("postgresql://me:p/w@db/fyke", "postgresql://***@db/fyke"),
        ("mysql://me:p@w/x?y#z@db:1/fyke is", "mysql://***@db:1/fyke is"),
        ("redis://:p/w@db and amqp://me:p/w@mq", "redis://***@db and amqp://***@mq"),
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
        "sqlite:///home/me@work/fyke.db",
    ],
)
def test_what_is_no_login_stays(text: str) -> None:
    assert redact(text) == text


def test_a_long_text_takes_no_long_time() -> None:
    for text in (
        "a://" * 50_000 + "@",
        "@" + "a://" * 50_000,
        "@" + "a." * 100_000,
        "@" * 100_000,
        "://?" + "a" * 99_999,
        "://" + "?" * 99_999,
        "://?" + "pass." * 9_999,
        "://?" + "pA" * 50_000 + "=1",
        "://?" + "id." * 9_999 + "=1",
        "://?" + "auth" * 30_000 + "=1",
        "%3A%2F%2F" * 20_000,
        "://" + "%3F" * 30_000,
        "://%3F" + "%25aa" * 20_000,
        "://" + "%3Ftoken%3D" * 20_000,
    ):
        began = monotonic()
        redact(text)
        assert monotonic() - began < 1


SECRET = [
    "api_key",
    "access_token",
    "client_secret",
    "password",
    "passwd",
    "signature",
    "X-Amz-Signature",
    "oauth_verifier",
    "PHPSESSID",
    "session_id",
    "sessionid",
    "session-id",
    "session",
    "sid",
    "connect.sid",
    "jwt",
    "pass",
    "user_pass",
    "user[pass]",
    "user%5Bpass%5D",
    "pwd",
    "userpwd",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "X-Amz-Credential",
    "otp",
    "totp",
    "ticket",
    "code",
    "Code",
    "csrf",
    "_csrf",
    "xsrf",
    "hmac",
    "JSESSIONID",
    "passcode",
    "pin",
    "pw",
    "userpass",
    "verification_code",
    "verificationCode",
    "activation_code",
    "unlock_code",
    "mfa_code",
    "SAMLResponse",
    "saml",
    "assertion",
    "sess",
    "creds",
    "tok",
    "nonce",
    "token",
    "api_key",
    "apikey",
    "apiKey",
    "key",
    "accesstoken",
    "accessToken",
    "tokens",
    "TOken",
    "sig",
    "secret",
    "clientSecret",
    "auth_code",
    "authcode",
    "AWSAccessKeyId",
    "secretkey",
    "sid2",
    "password2",
    "login%5Bpin%5D",
    "authorization",
    "ASPSESSIONIDABCD",
    "ASP.NET_SessionId",
    "csrfmiddlewaretoken",
]
PLAIN = [
    "page_code",
    "zip_code",
    "product_code",
    "countrycode",
    "codes",
    "passage",
    "compass",
    "passes",
    "inside",
    "side",
    "besides",
    "hotpot",
    "tickets",
    "ticket_type",
    "session_count",
    "cookiecutter",
    "jwts",
    "page",
    "sort",
    "keyword",
    "keywords",
    "author",
    "authors",
    "authority",
    "author_id",
    "design",
    "designer",
    "signal",
    "assignment",
    "monkey",
    "turkey",
    "hotkey",
    "keyboard",
    "keynote",
    "key_features",
    "sort_key",
    "sortKey",
    "secretary",
    "cookie_policy",
    "tokenizer",
    "tokens_per_page",
    "resign",
    "spin",
    "pinterest",
    "session_count_id",
]


@pytest.mark.parametrize("name", SECRET)
def test_secrets_in_queries_are_redacted(name: str) -> None:
    for before, after in (("?", ""), ("?a=1&", "&b=2"), (";", ""), ("?a=1;", ""), ("#", "&b=2")):
        assert (
            redact(f"http://a.test/{before}{name}=s3cret{after}")
            == f"http://a.test/{before}{name}=***{after}"
        )
    assert hide_login(f"http://a.test/?{name}=s3cret") == f"http://a.test/?{name}=s3cret"


@pytest.mark.parametrize("name", PLAIN)
def test_what_only_sounds_like_a_secret_stays(name: str) -> None:
    assert redact(f"http://a.test/?{name}=17&b=2") == f"http://a.test/?{name}=17&b=2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Ftoken%3DX",
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Ftoken%3D***",
        ),
        (
            "/in?next=http%3a%2f%2fh%2f%3fa%3d1%26pw%3dX%26b%3d2&c=3",
            "/in?next=http%3a%2f%2fh%2f%3fa%3d1%26pw%3d***%26b%3d2&c=3",
        ),
        (
            "http://a.test/?next=%2Fx%3Fuser%255Bpass%255D%3DX",
            "http://a.test/?next=%2Fx%3Fuser%255Bpass%255D%3D***",
        ),
        ("http://a.test/?next=http%3A%2F%2Fbob%3Apw%40h%2F", "http://a.test/?next=http%3A%2F%2F***%40h%2F"),
        (
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Fpage%3D2",
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Fpage%3D2",
        ),
        (
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Fto%3Dbob%40b.test",
            "http://a.test/?next=http%3A%2F%2Fh%2F%3Fto%3Dbob%40b.test",
        ),
    ],
)
def test_a_url_within_a_value_is_read_too(text: str, shown: str) -> None:
    assert redact(text) == shown
