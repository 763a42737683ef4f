"""Policies written and read back, allowed hours minute by minute, robots.txt against its rules."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.core.clock import SECOND, to_datetime
from fyke.politeness.hours import Window, opens_in, read_window, write_window
from fyke.politeness.policies import Policies
from fyke.politeness.policy import Policy
from fyke.politeness.rules import Rules

relaxed = settings(deadline=None)  # a loaded machine is no fault

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"]


@st.composite
def windows(draw: st.DrawFn) -> Window:
    start = draw(st.integers(0, 1439))
    end = draw(st.integers(0, 1440).filter(lambda value: value != start))
    days = draw(st.sets(st.integers(0, 6), min_size=1))
    return Window(start, end, tuple(sorted(days)))


names = st.from_regex(r"[a-z][a-z0-9]{0,8}\.(test|com|\*)", fullmatch=True)
durations = st.floats(0, 86400, allow_nan=False) | st.integers(0, 86400).map(float)


@st.composite
def policies(draw: st.DrawFn, name: str = "default", hosts: tuple[str, ...] = ()) -> Policy:
    return Policy(
        name=name,
        hosts=hosts,
        shared=draw(st.booleans()) if hosts else False,
        delay=draw(durations),
        burst=draw(st.integers(1, 1000)),
        concurrency=draw(st.integers(0, 1000)),
        robots=draw(st.sampled_from(["obey", "ignore"])),
        crawl_delay_cap=draw(durations),
        halve_for=draw(durations),
        hours=tuple(draw(st.lists(windows(), max_size=3))),
        time_zone=draw(st.sampled_from(ZONES)),
        user_agent=draw(st.none() | st.text(st.characters(categories=["L", "N", "P"]), min_size=1)),
    )


@st.composite
def books(draw: st.DrawFn) -> Policies:
    hosts = draw(st.lists(names, unique=True, max_size=6))
    return Policies(draw(policies()), [draw(policies(name=host, hosts=(host,))) for host in hosts])


@relaxed
@given(books())
def test_what_is_written_is_what_is_read(book: Policies) -> None:
    """Property 23: load, write, load gives the same, and treats every host alike."""
    again = Policies.load([("written", book.dump())])
    assert again == book
    assert again.dump() == book.dump()
    for policy in book.policies:
        host = policy.hosts[0].replace("*", "de")
        assert again.lane_for(f"http://www.{host}/x") == book.lane_for(f"http://www.{host}/x")


@relaxed
@given(windows())
def test_a_window_is_written_and_read_back(window: Window) -> None:
    assert read_window(write_window(window)) == window


def is_open(hours: list[Window], zone: str, at: int) -> bool:
    """Whether a window is open, by its words: the local weekday and time of day."""
    local = to_datetime(at).astimezone(ZoneInfo(zone))
    minute, today, yesterday = local.hour * 60 + local.minute, local.weekday(), (local.weekday() - 1) % 7
    for window in hours:
        if window.start < window.end:
            if today in window.days and window.start <= minute < window.end:
                return True
        elif (today in window.days and minute >= window.start) or (
            yesterday in window.days and minute < window.end
        ):
            return True
    return False


@relaxed
@given(
    st.lists(windows(), min_size=1, max_size=3),
    st.sampled_from(["UTC", "Asia/Kolkata"]),  # where the clocks are never changed
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
def test_it_opens_when_the_hours_say_so_and_not_before(
    hours: list[Window], zone: str, moment: datetime
) -> None:
    """Property 24."""
    now = int(moment.timestamp()) * SECOND
    wait = opens_in(hours, zone, now)
    assert (wait == 0) == is_open(hours, zone, now)
    if wait:
        assert is_open(hours, zone, now + wait)
        assert wait <= 8 * 86400 * SECOND
        step = max(60 * SECOND, wait // 200 // (60 * SECOND) * 60 * SECOND)
        start = now - now % (60 * SECOND) + 60 * SECOND
        assert not any(is_open(hours, zone, at) for at in range(start, now + wait, step))


@relaxed
@given(
    st.lists(windows(), min_size=1, max_size=3),
    st.sampled_from(ZONES),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),
)
def test_it_always_opens_within_days(hours: list[Window], zone: str, moment: datetime) -> None:
    now = int(moment.timestamp()) * SECOND
    wait = opens_in(hours, zone, now)
    assert 0 <= wait <= timedelta(days=9) / timedelta(seconds=1) * SECOND
    assert opens_in(hours, zone, now + wait) == 0


paths = st.from_regex(r"/[a-c]{0,3}(/[a-c]{0,2})?(\?[a-c]=[a-c])?", fullmatch=True)
patterns = st.from_regex(r"/[a-c*]{0,3}(/[a-c*]{0,2})?(\?[a-c])?\$?", fullmatch=True)


def matches(pattern: str, path: str) -> bool:
    """RFC 9309, 2.2.3, one character at a time."""
    if not pattern:
        return True
    if pattern == "$":
        return path == ""
    if pattern[0] == "*":
        return any(matches(pattern[1:], path[skip:]) for skip in range(len(path) + 1))
    return bool(path) and path[0] == pattern[0] and matches(pattern[1:], path[1:])


@relaxed
@given(st.lists(patterns, max_size=6), paths)
def test_what_a_disallow_matches_is_not_fetched(disallowed: list[str], path: str) -> None:
    """Property 25, with the short cut that spares most URLs the full look."""
    body = "User-agent: *\n" + "".join(f"Disallow: {pattern}\n" for pattern in disallowed)
    rules = Rules(body.encode(), "Fyke")
    expected = not any(matches(pattern, path) for pattern in disallowed)
    assert rules.allows(f"http://a.test{path}", path) is expected


@relaxed
@given(st.binary(max_size=300), paths)
def test_any_file_gives_an_answer(body: bytes, path: str) -> None:
    assert Rules(body, "Fyke").allows(f"http://a.test{path}", path) in (True, False)
