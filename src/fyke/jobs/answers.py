"""What an answer that is not the page, or the sitemap, means for what was asked for."""

from typing import Final

from msgspec import Struct

from fyke.core.errors import InvalidUrl
from fyke.core.http import retry_after
from fyke.core.page import Blocked, ErrorClass, Failed, Page
from fyke.core.urls import join
from fyke.fetch.headers import REDIRECTS
from fyke.fetch.trip import as_browsers_read
from fyke.politeness.robots import RobotsAnswer

__all__ = ["Stopped", "disallowed", "leads_to", "overgrown", "stopped_by"]

LARGE: Final = 1_000_000  # bytes; a smaller body cannot hold many more tags
MOST_TAGS: Final = 250_000  # a parsed page takes some 280 bytes for each


class Stopped(Struct, frozen=True):
    """Why a request came to nothing. `gone`: the site says there is no such page (any more); `skipped`: it
    was not ours to have; `until`: no attempt before that can do better."""

    error_class: str
    message: str
    fetched: Page | Failed | None = None
    retry_after: float | None = None
    gone: bool = False
    skipped: bool = False
    until: int = 0


def disallowed(answer: RobotsAnswer, fetched: Page | None = None) -> Stopped:
    skipped = answer.error_class == ErrorClass.ROBOTS
    reason = answer.reason if fetched is None else f"redirected: {answer.reason}"
    return Stopped(answer.error_class, reason, fetched, skipped=skipped, until=answer.until)


def overgrown(page: Page) -> Stopped | None:
    """A body within its limit may be a tree beyond all limits."""
    if len(page.body) < LARGE or page.body.count(b"<") <= MOST_TAGS:
        return None
    return Stopped(ErrorClass.BODY_TOO_LARGE, f"the page has more than {MOST_TAGS} tags", page)


def leads_to(page: Page) -> str | None:
    """Where a redirect that was not followed leads."""
    location = page.header("location")
    if page.status not in REDIRECTS or not location:
        return None
    try:
        return join(page.final_url, as_browsers_read(location))
    except InvalidUrl:
        return None


def stopped_by(fetched: Page | Failed | Blocked) -> Stopped:
    """What the answer means for what was asked for."""
    if isinstance(fetched, Failed):
        return Stopped(fetched.error_class, fetched.message, fetched, fetched.retry_after)
    if isinstance(fetched, Blocked):
        limited = fetched.page.status == 429
        error_class = ErrorClass.RATE_LIMITED if limited else ErrorClass.BLOCKED
        return Stopped(error_class, fetched.reason, fetched.page, fetched.retry_after)
    status = fetched.status
    message = f"status {status}"
    if status in (404, 410):
        return Stopped(ErrorClass.NOT_FOUND, message, fetched, gone=True)
    if status >= 500:
        asked = retry_after(fetched.header("retry-after"), fetched.fetched_at)
        return Stopped(ErrorClass.HTTP_5XX, message, fetched, asked)
    if status >= 400:
        return Stopped(ErrorClass.HTTP_4XX, message, fetched)
    if status == 304:
        return Stopped(ErrorClass.PROTOCOL, "status 304 to a request without a condition", fetched)
    return Stopped(ErrorClass.PROTOCOL, f"{message} that leads nowhere", fetched)
