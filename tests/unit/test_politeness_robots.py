"""robots.txt: rules, freshness, and one fetch for all who ask."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from protego import Protego

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.outcome import SaveRobots
from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.politeness.robots import Robots
from fyke.politeness.rules import Rules

HOUR = 3600 * SECOND
FILE = b"""User-agent: fyke
Disallow: /private/
Allow: /private/open
Disallow: /*?sort=
Disallow: /*.pdf$
Crawl-delay: 2

User-agent: *
Disallow: /

Sitemap: https://shop.test/sitemap.xml
"""


class Site:
    """Answers every request for a robots.txt with the next of its answers, then with the last."""

    def __init__(self, *answers: Page | Failed) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, request: Request) -> Page | Failed:
        self.asked.append(request.url)
        await self.gate.wait()
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def page(status: int, body: bytes = b"") -> Page:
    return Page("", "", status, (), body, 0, clock.now(), 0.1)


def failed(error_class: str) -> Failed:
    return Failed("", error_class, "it broke", clock.now())


async def test_rules_are_obeyed() -> None:
    robots = Robots(Site(page(200, FILE)), "Fyke")
    answer = await robots.allowed("https://shop.test/products/1")
    assert answer.allowed
    assert answer.crawl_delay == 2
    assert answer.fetched_now is not None
    assert (answer.fetched_now.origin, answer.fetched_now.verdict) == ("https://shop.test", "rules")
    assert answer.fetched_now.expires_at - answer.fetched_now.fetched_at == 24 * HOUR
    denied = await robots.allowed("https://shop.test/private/1")
    assert not denied.allowed
    assert (denied.error_class, denied.fetched_now) == (ErrorClass.ROBOTS, None)
    assert (await robots.allowed("https://shop.test/private/open/1")).allowed
    assert robots.sitemaps("https://shop.test") == ("https://shop.test/sitemap.xml",)
    assert robots.sitemaps("https://other.test") == ()


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private", True),
        ("/private/", False),
        ("/%70rivate/", False),
        ("/private/open", True),
        ("/a?sort=price", False),
        ("/a?x=1&sort=price", True),
        ("/a.pdf", False),
        ("/a.pdf?x", True),
        ("/PRIVATE/", True),
    ],
)
def test_paths_are_matched_by_rfc_9309(path: str, allowed: bool) -> None:
    assert Rules(FILE, "Fyke").allows(f"https://shop.test{path}", path) is allowed


@pytest.mark.parametrize(
    ("body", "path", "allowed"),
    [
        (b"User-agent: *\nDisallow: /", "/a", False),
        (b"User-agent: *\r\nDisallow: /a\r\nDisallow: /b", "/b1", False),
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /a", "/a", False),
        (b"User-agent: *\rDisallow: /a", "/a", False),
        (b"USER-AGENT: *\nDISALLOW:/a # why", "/a", False),
        (b"User-agent: *\nDisallow:", "/a", True),
        (b"User-agent: *\nDisallow: *", "/a", False),
        (b"User-agent: *\nDisallow: /*", "/a", False),
        (b"User-agent: *\nDisallow: /$", "/", False),
        (b"User-agent: *\nDisallow: /$", "/a", True),
        (b"User-agent: *\nDisallow: *b*c", "/abxc", False),
        (b"User-agent: *\nDisallow: a", "/a", True),
        ("User-agent: *\nDisallow: /ü".encode(), "/%C3%BC", False),
        ("User-agent: *\nDisallow: /*ü".encode(), "/x%C3%BC", False),
        (b"User-agent: *\nDisallow: /a%2Fb", "/a%2Fb", False),
        (b"User-agent: *\nDisallow: /a|b", "/a|b", False),
        (b"User-agent: *\nDisallow: /%7Etilde", "/~tilde", False),
        (b"User-agent: *\nDisallow: /%7etilde", "/~tilde/x", False),
        (b"User-agent: *\nDisallow: /~tilde", "/%7Etilde", False),
        (b"User-agent: *\nDisallow: /~tilde", "/%7etilde", False),
        (b"User-agent: *\nDisallow: /%70%72ivate", "/private", False),
        (b"User-agent: *\nDisallow: /*%2Dx", "/a-x", False),
        (b"User-agent: *\nDisallow: /a%3Db", "/a=b", False),
        (b"User-agent: *\nDisallow: /a%7Cb", "/a|b", False),
        (b"User-agent: *\nDisallow: /a%2Fb", "/a/b", True),
        (b"User-agent: *\nDisallow: /a%zz", "/a", True),
        (b"User-agent: *\nDisallow /a", "/a", False),
        (b"User-agent: *\nDissalow: /a", "/a", False),
        (b"User-agent: *\x0cDisallow: /a", "/a", False),
        (b"User-agent: other\nDisallow: /", "/a", True),
        (b"nonsense", "/a", True),
        (b"", "/a", True),
        (b"\xff\xfe\x00" * 100, "/a", True),
        (b"User-agent: *\nAllow: /a\n" + b"#" * 600_000 + b"\nDisallow: /", "/b", True),
        (b"User-agent: *\n" + b"".join(b"Disallow: /*x%dy\n" % n for n in range(100)), "/ax77y", False),
    ],
)
def test_files_as_they_are_found(body: bytes, path: str, allowed: bool) -> None:
    assert Rules(body, "Fyke").allows(f"https://shop.test{path}", path) is allowed


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_a_file_that_is_not_there_allows_everything(status: int) -> None:
    robots = Robots(Site(page(status, b"User-agent: *\nDisallow: /")), "Fyke")
    answer = await robots.allowed("https://shop.test/a")
    assert answer.allowed
    assert answer.fetched_now is not None
    assert answer.fetched_now.verdict == "allow"


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (500, ErrorClass.HTTP_5XX),
        (503, ErrorClass.HTTP_5XX),
        (429, ErrorClass.RATE_LIMITED),
        (ErrorClass.TIMEOUT, ErrorClass.TIMEOUT),
        (ErrorClass.DNS, ErrorClass.DNS),
        (ErrorClass.CONNECT, ErrorClass.CONNECT),
    ],
)
async def test_a_file_that_cannot_be_had_forbids_everything_for_a_while(
    answer: int | str, error_class: str
) -> None:
    robots = Robots(Site(page(answer) if isinstance(answer, int) else failed(answer)), "Fyke")
    denied = await robots.allowed("https://shop.test/a")
    assert not denied.allowed
    assert denied.error_class == error_class
    assert "robots.txt" in denied.reason
    assert denied.fetched_now is not None
    assert denied.fetched_now.verdict == "disallow"
    assert denied.fetched_now.expires_at - denied.fetched_now.fetched_at < HOUR


@pytest.mark.parametrize("error_class", [ErrorClass.TOO_MANY_REDIRECTS, ErrorClass.REFUSED])
async def test_a_file_that_leads_nowhere_allows_everything(error_class: str) -> None:
    robots = Robots(Site(failed(error_class)), "Fyke")
    assert (await robots.allowed("https://shop.test/a")).allowed


async def test_a_file_that_is_kept_where_we_may_not_go_forbids_everything_for_a_while() -> None:
    there = "http://10.0.0.1/robots.txt"
    away = Failed("", ErrorClass.REFUSED, "10.0.0.1, which is private", clock.now(), final_url=there)
    denied = await Robots(Site(away), "Fyke").allowed("https://shop.test/a")
    assert (denied.allowed, denied.error_class) == (False, ErrorClass.REFUSED)
    assert "redirected" in denied.reason
    assert denied.fetched_now is not None
    assert denied.fetched_now.verdict == "disallow"
    assert denied.fetched_now.expires_at - denied.fetched_now.fetched_at < HOUR


async def test_a_host_where_we_may_not_go_at_all_is_left_to_the_guard() -> None:
    here = "http://10.0.0.1/robots.txt"
    refused = Failed(here, ErrorClass.REFUSED, "10.0.0.1, which is private", clock.now(), final_url=here)
    assert (await Robots(Site(refused), "Fyke").allowed("http://10.0.0.1/a")).allowed


async def test_all_who_ask_at_once_wait_for_one_fetch() -> None:
    site = Site(page(200, FILE))
    site.gate.clear()
    robots = Robots(site, "Fyke")
    asking = [asyncio.create_task(robots.allowed(f"https://shop.test/{n}")) for n in range(50)]
    other = asyncio.create_task(robots.allowed("http://shop.test:8080/"))
    await asyncio.sleep(0)
    asking[0].cancel()
    site.gate.set()
    answers = await asyncio.gather(*asking[1:], other)
    assert all(answer.allowed for answer in answers)
    assert sorted(site.asked) == ["http://shop.test:8080/robots.txt", "https://shop.test/robots.txt"]
    assert robots.peek("https://shop.test/private/1") is not None


async def test_what_is_known_is_asked_for_again_when_it_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(page(503), page(200, FILE))
    robots = Robots(site, "Fyke")
    assert not (await robots.allowed("https://shop.test/a")).allowed
    assert robots.peek("https://shop.test/a") is not None
    later = clock.now() + HOUR
    monkeypatch.setattr(clock, "now", lambda: later)
    assert robots.peek("https://shop.test/a") is None
    site.answers[0] = page(200, FILE)
    assert (await robots.allowed("https://shop.test/a")).allowed
    assert len(site.asked) == 2


async def test_what_is_stored_is_taken_over() -> None:
    now = clock.now()
    site = Site(page(200, b""))
    robots = Robots(site, "Fyke")
    await robots.preload(
        [
            SaveRobots("https://a.test", "rules", FILE, now, now + HOUR),
            SaveRobots("https://b.test", "disallow", b"", now, now + HOUR),
            SaveRobots("https://c.test", "allow", b"", now - 2 * HOUR, now - HOUR),
        ]
    )
    known = robots.peek("https://a.test/private/x")
    assert known is not None
    assert not known.allowed
    assert robots.peek("https://b.test/") is None  # it did not come: why, nobody knows any more
    assert robots.peek("https://c.test/") is None
    assert site.asked == []


async def test_many_origins_do_not_fill_the_memory() -> None:
    robots = Robots(Site(page(404)), "Fyke", capacity=10)
    for number in range(50):
        await robots.allowed(f"https://h{number}.test/")
    assert len(robots._known) == 10
    assert robots.peek("https://h49.test/") is not None
    assert robots.peek("https://h0.test/") is None


async def test_large_files_do_not_fill_the_memory() -> None:
    """The newest is kept, however large."""
    body = b"User-agent: *\nDisallow: /p\n" + b"#" * 1000
    robots = Robots(Site(page(200, body)), "Fyke", most_bytes=3500)
    for number in range(10):
        await robots.allowed(f"https://h{number}.test/")
    assert [f"h{n}" for n in range(10) if robots.peek(f"https://h{n}.test/")] == ["h7", "h8", "h9"]
    assert not (await robots.allowed("https://h9.test/p")).allowed
    await robots.preload([SaveRobots("https://h.test", "rules", body * 9, clock.now(), clock.now() + HOUR)])
    assert list(robots._known) == ["https://h.test"]


@pytest.mark.parametrize("line", [b"Disallow: /p%d/\n", b"Disallow: /*x%dy\n"])
async def test_a_large_file_does_not_hold_up_the_event_loop(
    line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rules are made and asked elsewhere, and say the same."""
    body = b"User-agent: *\n" + b"".join(line % n for n in range(2000))
    seen: set[str] = set()

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def watch(*args: Any, **fields: Any) -> Any:
            seen.add(threading.current_thread().name[:6])
            return real(*args, **fields)

        return watch

    monkeypatch.setattr(Protego, "parse", watched(Protego.parse))
    monkeypatch.setattr(Protego, "can_fetch", watched(Protego.can_fetch))
    robots = Robots(Site(page(200, body)), "Fyke")
    denied = line.replace(b"Disallow: ", b"").replace(b"*", b"a").strip().decode() % 1999
    assert not (await robots.allowed(f"https://shop.test{denied}")).allowed
    assert (await robots.allowed("https://shop.test/%20")).allowed
    assert robots.peek(f"https://shop.test{denied}") is None
    assert seen == {"robots"}


async def test_stopping_drops_what_is_under_way() -> None:
    site = Site(page(200))
    site.gate.clear()
    robots = Robots(site, "Fyke")
    asking = asyncio.create_task(robots.allowed("https://shop.test/"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await robots.stop()
    await robots.stop()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_crawl_delays_that_are_known_are_told_by_origin() -> None:
    robots = Robots(Site(), "fyke")
    expires = clock.now() + HOUR
    await robots.preload(
        [
            SaveRobots("https://shop.test", "rules", FILE, expires - HOUR, expires),
            SaveRobots("https://plain.test", "rules", b"User-agent: *\nAllow: /\n", expires - HOUR, expires),
            SaveRobots("https://none.test", "allow", b"", expires - HOUR, expires),
        ]
    )
    assert robots.crawl_delays() == {"https://shop.test": 2.0}
