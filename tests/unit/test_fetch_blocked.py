"""Blocks are told from pages by what only a challenge has. All pages here are written for the test."""

import pytest

from fyke.core.page import Page
from fyke.fetch.blocked import judge

ARTICLE = (
    b"<title>How a captcha works</title><h1>Captchas and reCAPTCHA explained</h1>"
    b"<p>A captcha asks whether you are a robot. Sites show it when they see unusual traffic; Cloudflare"
    b" says Just a moment, DataDome and PerimeterX have their own, and then access is denied.</p>"
    b"<form action=/search><input name=q></form>"
)


def page(body: bytes, status: int = 200, **headers: str) -> Page:
    return Page(
        url="https://shop.test/",
        final_url="https://shop.test/",
        status=status,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        body=body,
        bytes_in=len(body),
        fetched_at=1_772_700_000_000_000,
        elapsed=0.1,
    )


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (page(b"<title>Slow down</title>", 429), "rate limited"),
        (page(b"", 429), "rate limited"),
        (page(b"<title>Just a moment...</title><div id=cf-wrapper>", 403), "Cloudflare challenge"),
        (
            page(b"<script src=/cdn-cgi/challenge-platform/h/b.js>", 503),
            "Cloudflare challenge",
        ),
        (
            page(b"<title>Just a moment...</title><a href=/cdn-cgi/challenge-platform/x>"),
            "Cloudflare challenge",
        ),
        (page(b"<p>Wait</p>", 200, cf_mitigated="challenge"), "Cloudflare challenge"),
        (page(b"<title>Attention Required! | Cloudflare</title>", 403), "Cloudflare block page"),
        (page(b"<script src=https://ct.captcha-delivery.com/c.js>", 403), "DataDome challenge"),
        (
            page(b"<script src=https://ct.captcha-delivery.com/c.js>", 200, x_datadome="1"),
            "DataDome challenge",
        ),
        (page(b"<div id=px-captcha></div>", 403), "PerimeterX challenge"),
        (page(b"<iframe src=/_Incapsula_Resource?a=b>", 403), "Imperva block page"),
        (page(b"<TITLE>Access Denied</TITLE> Reference&#32;&#35;18&#46;2", 403), "Akamai block page"),
        (page(b"<script src='https://js.hcaptcha.com/1/api.js'>", 403), "hCaptcha"),
        (page(b"<script src='https://www.google.com/recaptcha/api.js'>", 403), "reCAPTCHA"),
        (page(b"<form>Enter the captcha <input></form>", 403), "captcha"),
        (page(b"<p>We saw unusual traffic from your network", 503), "unusual traffic"),
        (page(b"<title>Robot Check</title><form>captcha</form>"), "robot check"),
        (page(b"<title>Pardon Our Interruption</title><form>"), "Imperva block page"),
    ],
)
def test_a_challenge_is_a_block_with_its_reason(seen: Page, reason: str) -> None:
    blocked = judge(seen)
    assert blocked is not None
    assert blocked.reason.startswith(reason)
    assert str(seen.status) in blocked.reason
    assert blocked.page is seen


@pytest.mark.parametrize(
    "seen",
    [
        page(ARTICLE),
        page(ARTICLE, cf_ray="1", server="cloudflare", x_datadome="no-challenge"),
        page(b"<title>Just a moment of peace</title><p>A book about cf-music."),
        page(b"<title>Robot check-up kits</title><p>Toys."),
        page(b"<title>Sorry... we moved</title>"),
        page(b"<script src='https://www.google.com/recaptcha/api.js'></script><form>Write to us</form>"),
        page(b"<h1>Members only</h1>", 403),
        page(b"<h1>Down for maintenance</h1>", 503),
        page(b"<h1>Not found</h1>", 404),
        page(b"<h1>Broken</h1>", 500),
        page(b"", 304),
        page(b""),
    ],
)
def test_a_page_that_only_talks_of_it_is_a_page(seen: Page) -> None:
    assert judge(seen) is None


def test_it_says_how_long_to_wait() -> None:
    blocked = judge(page(b"", 429, retry_after="120"))
    assert blocked is not None
    assert blocked.retry_after == 120.0
    blocked = judge(page(b"", 429))
    assert blocked is not None
    assert blocked.retry_after is None
