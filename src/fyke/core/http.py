"""The few facts of HTTP that several rooms read alike."""

from email.utils import parsedate_to_datetime

from fyke.core.clock import SECOND

__all__ = ["retry_after"]

LONGEST = 86_400.0  # a day: no site is waited for longer, whatever it says


def retry_after(value: str | None, now: int) -> float | None:
    """The seconds that a Retry-After header asks to wait (a number or a date), None when it says nothing
    that can be read. `now` is in µs."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), LONGEST)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, moment - now / SECOND), LONGEST)
