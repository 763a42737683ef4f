"""robots.txt by RFC 9309: fetched once for each origin, kept for a day, asked for every URL.

4xx means that everything is allowed; 5xx, or no answer at all, that nothing is, until it is asked again
shortly after. Such a failure is known for its time only: it is not taken over by another process.
"""

from asyncio import Task, create_task, shield
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec
import structlog
from msgspec import Struct

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.outcome import SaveRobots
from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.core.urls import host_of, origin_of
from fyke.politeness.rules import SIZE_LIMIT, Rules, ask_rules, read_rules

__all__ = ["MOST_BYTES", "REDIRECTS", "FetchRobots", "Robots", "RobotsAnswer"]

log = structlog.get_logger("fyke.robots")

FetchRobots = Callable[[Request], Awaitable[Page | Failed]]

REDIRECTS: Final = 5
FRESH: Final = 24 * 3600 * SECOND
RETRY_AFTER: Final = 300 * SECOND
NOBODY_THERE: Final = 2 * SECOND  # a name mistyped, a server that is off: five minutes tell no more
MOST_BYTES: Final = 8 * 1024 * 1024  # of all files that are known; see rules for what they take
RULES, ALLOW, DISALLOW = "rules", "allow", "disallow"
# Failures of a robots.txt that is there in principle, or may be: RFC 9309's "unreachable".
UNREACHABLE: Final = frozenset(
    {
        ErrorClass.DNS,
        ErrorClass.CONNECT,
        ErrorClass.TLS,
        ErrorClass.TIMEOUT,
        ErrorClass.CONNECTION_LOST,
        ErrorClass.PROTOCOL,
        ErrorClass.HEADERS_TOO_LARGE,
        ErrorClass.BAD_ENCODING,
        ErrorClass.INTERNAL,
    }
)


class RobotsAnswer(Struct, frozen=True, gc=False):
    """Whether a URL may be fetched. `error_class` and `reason` say how a page fails that may not: one that
    could pass later (robots.txt did not come) has the class of what went wrong, and `until`, before which
    nobody asks again. `fetched_now` is set when this call fetched the file: it is to be stored."""

    allowed: bool
    crawl_delay: float | None = None
    fetched_now: SaveRobots | None = None
    error_class: str = ErrorClass.ROBOTS
    reason: str = ""
    until: int = 0


OUT_OF_DATE: Final = RobotsAnswer(False, error_class=ErrorClass.TIMEOUT, reason="robots.txt is out of date")


class Known(Struct, frozen=True):
    """What is known of an origin: its rules, or an answer that holds for all of it. `size` is its file's."""

    expires_at: int
    size: int = 0
    rules: Rules | None = None
    answer: RobotsAnswer = RobotsAnswer(True)


class Robots:
    """What robots.txt says, of any origin, for a crawler of the name `agent`.

    `fetch` gets the file (it should take up to rules.SIZE_LIMIT bytes, any type, REDIRECTS redirects). At
    most `capacity` origins are known, and files of `most_bytes` together: the oldest go first."""

    def __init__(
        self, fetch: FetchRobots, agent: str, capacity: int = 20_000, most_bytes: int = MOST_BYTES
    ) -> None:
        self._fetch = fetch
        self._agent = agent
        self._capacity = capacity
        self._most_bytes = most_bytes
        self._bytes = 0
        self._known: dict[str, Known] = {}  # the oldest first
        self._learning: dict[str, Task[SaveRobots]] = {}

    async def preload(self, rows: Iterable[SaveRobots]) -> None:
        """Take over what has been stored, but for failures: asking again tells more."""
        now = clock.now()
        for row in rows:
            if row.verdict != DISALLOW and row.expires_at > now and row.origin not in self._known:
                await self._remember(row, None)

    def peek(self, url: str) -> RobotsAnswer | None:
        """The answer for a canonical URL, if there is one at once; None when it takes `allowed`."""
        slash = url.find("/", 8)
        known = self._known.get(url[:slash])
        if known is None or known.expires_at <= clock.now():
            return None
        rules = known.rules
        if rules is None or rules.lets_through(url[slash:]):
            return known.answer
        return None if rules.large else _answer(known, rules.allows(url, url[slash:]))

    async def learn(self, origin: str) -> SaveRobots:
        """Fetch an origin's robots.txt. All who ask meanwhile wait for the same fetch."""
        task = self._learning.get(origin)
        if task is None:
            task = self._learning[origin] = create_task(self._learn(origin))
            task.add_done_callback(lambda _: self._learning.pop(origin, None))
        return await shield(task)

    async def allowed(self, url: str) -> RobotsAnswer:
        """The answer for a canonical URL, its robots.txt fetched if need be."""
        answer = await self._look_up(url)
        if answer is not None:
            return answer
        row = await self.learn(origin_of(url))
        answer = await self._look_up(url) or OUT_OF_DATE
        return msgspec.structs.replace(answer, fetched_now=row)

    def crawl_delays(self) -> dict[str, float]:
        """By origin, the Crawl-delays that are known."""
        found = {origin: known.answer.crawl_delay for origin, known in self._known.items()}
        return {origin: delay for origin, delay in found.items() if delay is not None}

    def sitemaps(self, origin: str) -> tuple[str, ...]:
        """The sitemaps that the origin's robots.txt names, if it is known."""
        known = self._known.get(origin)
        return known.rules.sitemaps if known is not None and known.rules is not None else ()

    async def stop(self) -> None:
        """Drop the fetches under way. Twice is safe."""
        for task in list(self._learning.values()):
            task.cancel()

    async def _look_up(self, url: str) -> RobotsAnswer | None:
        """The answer of what is known: large rules are asked in a thread."""
        answer = self.peek(url)
        slash = url.find("/", 8)
        known = self._known.get(url[:slash])
        if answer is not None or known is None or known.rules is None or known.expires_at <= clock.now():
            return answer
        return _answer(known, await ask_rules(known.rules, url, url[slash:]))

    async def _learn(self, origin: str) -> SaveRobots:
        fetched = await self._fetch(Request(f"{origin}/robots.txt"))
        row, failure = _judge(origin, fetched)
        await self._remember(row, failure)
        if failure is not None:
            error_class, reason = failure
            log.warning(
                "robots_missing",
                host=host_of(f"{origin}/"),
                url=f"{origin}/robots.txt",
                error_class=error_class,
                reason=reason,
                asked_again_at=clock.iso(row.expires_at),
            )
        return row

    async def _remember(self, row: SaveRobots, failure: tuple[str, str] | None) -> None:
        rules = await read_rules(row.body, self._agent) if row.verdict == RULES else None
        if failure is not None:
            error_class, message = failure
            answer = RobotsAnswer(
                False, error_class=error_class, reason=f"robots.txt: {message}", until=row.expires_at
            )
        else:
            answer = RobotsAnswer(True, rules.crawl_delay if rules else None)
        known = Known(row.expires_at, len(row.body), rules, answer)
        self._forget(row.origin)
        while self._known and not self._has_room(known):
            self._forget(next(iter(self._known)))
        self._known[row.origin] = known
        self._bytes += known.size

    def _has_room(self, known: Known) -> bool:
        return len(self._known) < self._capacity and self._bytes + known.size <= self._most_bytes

    def _forget(self, origin: str) -> None:
        known = self._known.pop(origin, None)
        if known is not None:
            self._bytes -= known.size


def _answer(known: Known, allowed: bool) -> RobotsAnswer:
    """What the rules of an origin come to for one URL."""
    if allowed:
        return known.answer
    return RobotsAnswer(False, known.answer.crawl_delay, reason="robots.txt disallows it")


def _judge(origin: str, fetched: Page | Failed) -> tuple[SaveRobots, tuple[str, str] | None]:
    """What an answer to a request for robots.txt means."""
    at = fetched.fetched_at
    if isinstance(fetched, Failed):
        if fetched.error_class in UNREACHABLE:
            failure = (fetched.error_class, fetched.message)
            wait = (
                NOBODY_THERE if fetched.error_class in (ErrorClass.DNS, ErrorClass.CONNECT) else RETRY_AFTER
            )
            return SaveRobots(origin, DISALLOW, b"", at, at + wait), failure
        if fetched.error_class == ErrorClass.REFUSED and _moved(origin, fetched):
            failure = (fetched.error_class, f"redirected to where it cannot be had: {fetched.message}")
            return SaveRobots(origin, DISALLOW, b"", at, at + RETRY_AFTER), failure
        return SaveRobots(origin, ALLOW, b"", at, at + FRESH), None  # nothing there that could be read
    status = fetched.status
    if 200 <= status < 300:
        return SaveRobots(origin, RULES, fetched.body[:SIZE_LIMIT], at, at + FRESH), None
    if status >= 500 or status == 429:
        failure = (ErrorClass.HTTP_5XX if status >= 500 else ErrorClass.RATE_LIMITED, f"status {status}")
        return SaveRobots(origin, DISALLOW, b"", at, at + RETRY_AFTER), failure
    return SaveRobots(origin, ALLOW, b"", at, at + FRESH), None


def _moved(origin: str, failed: Failed) -> bool:
    """Whether the file is kept elsewhere: it is there, then, and what it says is not known. An origin that is
    refused itself has no page that could be fetched, and the guard gives the better reason."""
    return failed.final_url is not None and not failed.final_url.startswith(f"{origin}/")
