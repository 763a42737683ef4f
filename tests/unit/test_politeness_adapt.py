"""What a site's answer means for its lane, and how Retry-After is read."""

import pytest

from fyke.core.clock import SECOND, from_iso
from fyke.core.http import retry_after
from fyke.core.outcome import SlowLane
from fyke.core.page import Blocked, ErrorClass, Failed, Page
from fyke.politeness.adapt import crawl_delay, slow_down
from fyke.politeness.policy import Policy

POLICY = Policy(halve_for=600, delay=1, crawl_delay_cap=30)
NOW = from_iso("2026-03-04T12:00:00+00:00")


def page(status: int, wait: str | None = None) -> Page:
    headers = (("retry-after", wait),) if wait is not None else ()
    return Page("http://a.test/", "http://a.test/", status, headers, b"", 0, NOW, 0.1)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("120", 120),
        (" 0 ", 0),
        ("99999999999999999999", 86400),
        ("Wed, 04 Mar 2026 12:00:30 GMT", 30),
        ("Wed, 04 Mar 2026 11:00:00 GMT", 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 86400),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("²", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


def test_a_429_halves_the_rate_for_the_policys_time() -> None:
    halved = SlowLane(halve=True, duration=600 * SECOND)
    assert slow_down(page(429), POLICY) == halved
    assert slow_down(Blocked("rate limited", page(429)), POLICY) == halved
    assert slow_down(page(429, "7"), POLICY) == SlowLane(pause=7 * SECOND, halve=True, duration=600 * SECOND)
    failed = Failed("http://a.test/", ErrorClass.BODY_TOO_LARGE, "x", NOW, status=429, retry_after=7)
    assert slow_down(failed, POLICY) == slow_down(page(429, "7"), POLICY)


def test_a_503_pauses_only_when_it_says_for_how_long() -> None:
    assert slow_down(page(503, "20"), POLICY) == SlowLane(pause=20 * SECOND)
    assert slow_down(page(503), POLICY) is None
    assert slow_down(page(503, "0"), POLICY) is None


def test_a_pause_is_not_longer_than_an_hour() -> None:
    slow = slow_down(page(503, "86400"), POLICY)
    assert slow is not None
    assert slow.pause == 3600 * SECOND


@pytest.mark.parametrize("status", [200, 304, 403, 404, 500])
def test_other_answers_change_nothing(status: int) -> None:
    assert slow_down(page(status, "9"), POLICY) is None
    assert slow_down(Failed("http://a.test/", ErrorClass.TIMEOUT, "x", NOW), POLICY) is None


def test_a_crawl_delay_counts_when_it_is_longer_and_up_to_the_cap() -> None:
    assert crawl_delay(None, POLICY) is None
    assert crawl_delay(0.5, POLICY) is None
    assert crawl_delay(1, POLICY) is None
    assert crawl_delay(5, POLICY) == SlowLane(interval=5 * SECOND)
    assert crawl_delay(3600, POLICY) == SlowLane(interval=30 * SECOND)
    assert crawl_delay(5, Policy(robots="ignore")) is None
