"""Whether, and when, a task that failed is tried again: one pure decision."""

from typing import Final

from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.page import ErrorClass

__all__ = ["RetryPolicy", "retry_delay"]

MAY_PASS: Final = frozenset(
    {
        ErrorClass.DNS,
        ErrorClass.CONNECT,
        ErrorClass.TIMEOUT,
        ErrorClass.CONNECTION_LOST,
        ErrorClass.PROTOCOL,
        ErrorClass.HTTP_5XX,
        ErrorClass.RATE_LIMITED,
        ErrorClass.BLOCKED,
        ErrorClass.INTERNAL,
    }
)


class RetryPolicy(Struct, frozen=True):
    """How often and after how many seconds."""

    attempts: int = 3
    base: float = 2.0
    factor: float = 2.0
    cap: float = 600.0


def retry_delay(
    error_class: str,
    attempt: int,
    policy: RetryPolicy,
    chance: float,
    asked: float | None = None,
    *,
    least: int = 0,
) -> int | None:
    """µs to wait before attempt `attempt + 1`, or None when there is to be none.

    `attempt` counts from 1; `chance` in [0, 1) spreads the wait over the upper half of its range;
    `asked` is what the site's Retry-After said, in seconds, and is never undercut below the cap; `least`
    is how many µs an attempt is certain to fail for, whatever the cap.
    """
    if error_class not in MAY_PASS or attempt >= policy.attempts:
        return None
    wait = min(policy.cap, policy.base * policy.factor ** (attempt - 1))
    seconds = wait * (0.5 + chance / 2)
    if asked is not None:
        seconds = min(max(seconds, asked), policy.cap)
    return max(int(seconds * SECOND), least)
