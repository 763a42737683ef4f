"""Allowed hours: when, in a policy's time zone, a site may be asked."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from fyke.core.clock import SECOND, to_datetime

__all__ = ["DAYS", "Window", "opens_in", "read_window", "write_window"]

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WHOLE_DAY: Final = 24 * 60
FORM: Final = re.compile(r"(?:([a-z,\- ]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")


class Window(Struct, frozen=True, gc=False):
    """A time of day, in minutes from midnight, on some days of the week (0 is Monday). One that ends
    before it starts goes on into the next day."""

    start: int
    end: int
    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)


def read_window(text: str) -> Window:
    """The window that `mon-fri 09:00-17:30` means; ValueError with what was expected."""
    match = FORM.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not of the form '09:00-17:30' or 'mon-fri 09:00-17:30'")
    start = _minutes(match[2], match[3])
    end = _minutes(match[4], match[5])
    if start in (end, WHOLE_DAY):
        raise ValueError(f"{text!r} is an empty time")
    return Window(start, end, _read_days(match[1]) if match[1] else tuple(range(7)))


def write_window(window: Window) -> str:
    clock = f"{window.start // 60:02}:{window.start % 60:02}-{window.end // 60:02}:{window.end % 60:02}"
    return clock if len(window.days) == 7 else f"{','.join(DAYS[day] for day in window.days)} {clock}"


def _minutes(hours: str, minutes: str) -> int:
    value = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or value > WHOLE_DAY:
        raise ValueError(f"{hours}:{minutes} is no time of day")
    return value


def _read_days(text: str) -> tuple[int, ...]:
    days: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise ValueError(f"{part!r} is not a day; days are {', '.join(DAYS)}")
        start = DAYS.index(first)
        length = (DAYS.index(last) - start) % 7 if dash else 0
        days.update((start + step) % 7 for step in range(length + 1))
    return tuple(sorted(days))


def opens_in(hours: Sequence[Window], time_zone: str, now: int) -> int:
    """µs until a request is allowed: 0 when it is now, or when there are no hours at all."""
    if not hours:
        return 0
    zone = ZoneInfo(time_zone)
    today = to_datetime(now).astimezone(zone).date()
    waits: list[int] = []
    for offset in range(-1, 9):  # from yesterday, whose window may still be open, to over a week ahead
        day = today + timedelta(days=offset)
        for window in hours:
            if day.weekday() not in window.days:
                continue
            start = _at(day, window.start, zone)
            end = _at(day + timedelta(days=1) if window.end < window.start else day, window.end, zone)
            if start <= now < end:
                return 0
            if start > now:
                waits.append(start - now)
    return min(waits)


def _at(day: date, minutes: int, zone: ZoneInfo) -> int:
    """The moment of a local time, in µs; one that the clocks skip in spring is the first after it."""
    if minutes == WHOLE_DAY:
        day, minutes = day + timedelta(days=1), 0
    moment = datetime.combine(day, time(minutes // 60, minutes % 60), zone)
    return int(moment.timestamp()) * SECOND
