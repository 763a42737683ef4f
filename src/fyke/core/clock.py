"""The only reader of the wall clock. Times are whole microseconds since the epoch, UTC."""

from datetime import UTC, datetime
from time import monotonic, time_ns

__all__ = ["SECOND", "from_iso", "iso", "monotonic", "now", "to_datetime"]

SECOND = 1_000_000


def now() -> int:
    """Microseconds since the epoch."""
    return time_ns() // 1000


def to_datetime(us: int) -> datetime:
    return datetime.fromtimestamp(us / SECOND, UTC)


def iso(us: int) -> str:
    """RFC 3339 in UTC with milliseconds, such as 2026-03-01T09:30:00.125Z."""
    return to_datetime(us).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_iso(text: str) -> int:
    """Microseconds of an RFC 3339 time; a time without a zone is refused."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return int(moment.timestamp() * SECOND)
