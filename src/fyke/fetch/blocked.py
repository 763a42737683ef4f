"""Whether an answer is the page, or the site's refusal to show it.

A signal is a status, a header or words that only a challenge has; a page that talks about captchas has
none of them. New signals are lines of the table.
"""

import re
from typing import Final

from msgspec import Struct

from fyke.core.http import retry_after
from fyke.core.page import Blocked, Page

__all__ = ["SIGNALS", "Signal", "judge"]

REFUSALS: Final = frozenset({401, 403, 405, 406, 429, 503})
LOOKED_AT: Final = 64 * 1024  # of a refusal's body
TITLE: Final = re.compile(rb"<title[^>]*>([^<]{0,200})", re.IGNORECASE)
TITLE_WITHIN: Final = 4096
CHALLENGE_SIZE: Final = 100 * 1024  # challenges that come as 200 are smaller than this


class Signal(Struct, frozen=True, kw_only=True):
    """One sign of a block. All that it names must be there: one of `statuses` (none: any status), a
    header and what its value contains, the title's beginning, all of `words` in the body. Titles and
    words are in lower case."""

    reason: str
    statuses: frozenset[int] = REFUSALS
    header: tuple[str, str] | None = None
    title: bytes = b""
    words: tuple[bytes, ...] = ()


ANY: Final[frozenset[int]] = frozenset()
OK: Final = frozenset({200})

CLOUDFLARE: Final = b"/cdn-cgi/challenge-platform/"
DATADOME: Final = b"captcha-delivery.com"

SIGNALS: Final = (
    Signal(reason="Cloudflare challenge", statuses=ANY, header=("cf-mitigated", "challenge")),
    Signal(reason="Cloudflare challenge", words=(CLOUDFLARE,)),
    Signal(reason="Cloudflare challenge", title=b"just a moment", words=(b"cf-",)),
    Signal(reason="Cloudflare block page", title=b"attention required!", words=(b"cloudflare",)),
    Signal(reason="Cloudflare block page", title=b"access denied", words=(b"cloudflare",)),
    Signal(
        reason="DataDome challenge",
        statuses=ANY,
        header=("x-datadome", "protected"),
        words=(DATADOME,),
    ),
    Signal(reason="DataDome challenge", statuses=ANY, header=("x-datadome", ""), words=(DATADOME,)),
    Signal(reason="DataDome challenge", words=(DATADOME,)),
    Signal(reason="PerimeterX challenge", words=(b"px-captcha",)),
    Signal(reason="Imperva block page", words=(b"_incapsula_resource",)),
    Signal(reason="Akamai block page", title=b"access denied", words=(b"reference&#32;&#35;",)),
    Signal(reason="hCaptcha", words=(b"hcaptcha.com/1/api.js",)),
    Signal(reason="reCAPTCHA", words=(b"google.com/recaptcha/api",)),
    Signal(reason="captcha", title=b"captcha"),
    Signal(reason="captcha", words=(b"<form", b"captcha", b"<input")),
    Signal(reason="unusual traffic", words=(b"unusual traffic",)),
    Signal(reason="robot check", statuses=OK, title=b"robot check", words=(b"captcha", b"<form")),
    Signal(
        reason="Cloudflare challenge",
        statuses=OK,
        title=b"just a moment",
        words=(CLOUDFLARE,),
    ),
    Signal(reason="Imperva block page", statuses=OK, title=b"pardon our interruption", words=(b"<form",)),
    Signal(reason="unusual traffic", statuses=OK, title=b"sorry...", words=(b"unusual traffic", b"<form")),
)
HEADERS: Final = frozenset(signal.header[0] for signal in SIGNALS if signal.header is not None)
TITLES_OF_200: Final = tuple(signal.title for signal in SIGNALS if 200 in signal.statuses)
RATE_LIMITED: Final = 429


def judge(page: Page) -> Blocked | None:
    """The block that a page is; None when it is a page."""
    refusal = page.status in REFUSALS
    if not refusal and not _suspicious(page):
        return None
    body = page.body[:LOOKED_AT].lower()
    title = _title(body)
    for signal in SIGNALS:
        if _matches(signal, page, title, body):
            return _blocked(page, signal.reason)
    return _blocked(page, "rate limited") if page.status == RATE_LIMITED else None


def _suspicious(page: Page) -> bool:
    """A quick look at what is no refusal by its status: most pages end here."""
    for name, _ in page.headers:
        if name in HEADERS:
            return True
    if page.status != 200 or len(page.body) > CHALLENGE_SIZE:
        return False
    return _title(page.body).startswith(TITLES_OF_200)


def _title(body: bytes) -> bytes:
    match = TITLE.search(body, 0, TITLE_WITHIN)
    return match[1].strip().lower() if match else b""


def _matches(signal: Signal, page: Page, title: bytes, body: bytes) -> bool:
    if signal.statuses and page.status not in signal.statuses:
        return False
    if signal.header is not None:
        value = page.header(signal.header[0])
        if value is None or signal.header[1] not in value.lower():
            return False
    return title.startswith(signal.title) and all(word in body for word in signal.words)


def _blocked(page: Page, reason: str) -> Blocked:
    return Blocked(
        reason=f"{reason} (status {page.status})",
        page=page,
        retry_after=retry_after(page.header("retry-after"), page.fetched_at),
    )
