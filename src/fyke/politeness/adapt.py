"""What a site's answer means for its lane."""

from typing import Final

from fyke.core.clock import SECOND
from fyke.core.http import retry_after
from fyke.core.outcome import SlowLane
from fyke.core.page import Blocked, Failed, Fetched
from fyke.politeness.policy import Policy

__all__ = ["crawl_delay", "slow_down"]

LONGEST_PAUSE: Final = 3600.0  # seconds: a site that asks for a day is asked again after an hour
TOO_MANY: Final = 429
UNAVAILABLE: Final = 503


def slow_down(fetched: Fetched, policy: Policy) -> SlowLane | None:
    """Halve the rate after a 429 and wait as long as Retry-After says; None when nothing was said."""
    status, asked = _asked(fetched)
    pause = round(min(asked or 0.0, LONGEST_PAUSE) * SECOND)
    if status == TOO_MANY:
        return SlowLane(pause=pause, halve=True, duration=round(policy.halve_for * SECOND))
    if status == UNAVAILABLE and pause:
        return SlowLane(pause=pause)
    return None


def crawl_delay(seconds: float | None, policy: Policy) -> SlowLane | None:
    """The interval that robots.txt asks for, if it is longer than the policy's own."""
    if seconds is None or policy.robots == "ignore":
        return None
    seconds = min(seconds, policy.crawl_delay_cap)
    return SlowLane(interval=round(seconds * SECOND)) if seconds > policy.delay else None


def _asked(fetched: Fetched) -> tuple[int | None, float | None]:
    """The status, and the seconds the site asked to wait."""
    if isinstance(fetched, Failed):
        return fetched.status, fetched.retry_after
    page = fetched.page if isinstance(fetched, Blocked) else fetched
    if page.status not in (TOO_MANY, UNAVAILABLE):
        return page.status, None
    return page.status, retry_after(page.header("retry-after"), page.fetched_at)
