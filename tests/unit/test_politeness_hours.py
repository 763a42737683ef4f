"""Allowed hours, in the policy's own time zone."""

import pytest

from fyke.core.clock import SECOND, from_iso
from fyke.politeness.hours import opens_in, read_window, write_window
from fyke.politeness.policy import Policy

HOUR = 3600 * SECOND


def wait(hours: list[str], zone: str, at: str) -> float:
    """Hours until it opens."""
    return opens_in([read_window(text) for text in hours], zone, from_iso(at)) / HOUR


@pytest.mark.parametrize(
    ("hours", "zone", "at", "expected"),
    [
        ([], "UTC", "2026-03-04T03:00:00+00:00", 0),
        (["09:00-17:00"], "UTC", "2026-03-04T09:00:00+00:00", 0),
        (["09:00-17:00"], "UTC", "2026-03-04T16:59:59+00:00", 0),
        (["09:00-17:00"], "UTC", "2026-03-04T17:00:00+00:00", 16),
        (["09:00-17:00"], "UTC", "2026-03-04T08:30:00+00:00", 0.5),
        (["09:00-17:00"], "Europe/Berlin", "2026-03-04T08:00:00+00:00", 0),
        (["09:00-17:00"], "Asia/Tokyo", "2026-03-04T08:00:00+00:00", 16),
        (["22:00-06:00"], "UTC", "2026-03-04T23:00:00+00:00", 0),
        (["22:00-06:00"], "UTC", "2026-03-04T05:59:00+00:00", 0),
        (["22:00-06:00"], "UTC", "2026-03-04T06:00:00+00:00", 16),
        (["00:00-24:00"], "UTC", "2026-03-04T23:59:59+00:00", 0),
        (["06:00-24:00"], "UTC", "2026-03-04T00:00:00+00:00", 6),
        (["sat,sun 00:00-24:00"], "UTC", "2026-03-04T00:00:00+00:00", 72),  # a Wednesday
        (["mon-fri 09:00-17:00"], "UTC", "2026-03-06T17:00:00+00:00", 64),  # over the weekend
        (["fri-mon 09:00-17:00"], "UTC", "2026-03-03T09:00:00+00:00", 72),
        (["fri 22:00-06:00"], "UTC", "2026-03-07T05:00:00+00:00", 0),  # Saturday, still Friday's
        (["fri 22:00-06:00"], "UTC", "2026-03-06T05:00:00+00:00", 17),
        (["wed 09:00-10:00"], "UTC", "2026-03-04T10:00:00+00:00", 7 * 24 - 1),
        (["09:00-10:00", "14:00-15:00"], "UTC", "2026-03-04T10:00:00+00:00", 4),
        (["02:30-04:00"], "Europe/Berlin", "2026-03-29T00:30:00+00:00", 1),  # 02:30 does not exist: 03:30
        (["09:00-17:00"], "Europe/Berlin", "2026-03-28T17:00:00+00:00", 14),  # the night is an hour shorter
        (["09:00-17:00"], "Europe/Berlin", "2026-10-24T16:00:00+00:00", 16),  # and an hour longer
    ],
)
def test_when_it_opens(hours: list[str], zone: str, at: str, expected: float) -> None:
    assert wait(hours, zone, at) == expected


def test_a_policy_knows_its_hours() -> None:
    policy = Policy(hours=(read_window("09:00-17:00"),), time_zone="Europe/Berlin")
    assert policy.opens_in(from_iso("2026-03-04T07:00:00+00:00")) == HOUR
    assert Policy().opens_in(0) == 0


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("9:00 - 17:30", "09:00-17:30"),
        ("MON-FRI 09:00-17:30", "mon,tue,wed,thu,fri 09:00-17:30"),
        ("sun,mon 00:00-24:00", "mon,sun 00:00-24:00"),
        ("mon-sun 00:00-24:00", "00:00-24:00"),
    ],
)
def test_windows_are_written_in_one_way(text: str, written: str) -> None:
    assert write_window(read_window(text)) == written
    assert read_window(written) == read_window(text)
