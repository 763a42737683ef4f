"""The plan: reads one source of a job after the other, and makes tasks of its URLs.

What is fetched for the plan is kept as an object until the job's last source has been read. A plan that
is run again, after a crash or when the job is resumed, therefore reads the same bytes: the same URLs at
the same places in the job, whatever the site serves by then. What had been added is seen and ignored.

A site is asked for its sitemaps: those that robots.txt names, else /sitemap.xml. Where there is none, the
crawl begins at the address given and follows links within its host (see `page`); such a crawl has no list
that something could be absent from.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import structlog
from msgspec import Struct

from fyke.core import clock
from fyke.core.errors import InvalidUrl, StoreError
from fyke.core.handler import Context
from fyke.core.ids import public
from fyke.core.outcome import AddSources, AddTasks, Effect, JobLog, Outcome, Source, SourceRead, Verdict
from fyke.core.page import ErrorClass
from fyke.core.retry import RetryPolicy, retry_delay
from fyke.core.secrets import hide_login, redact
from fyke.core.task import JobInfo, Kind, LaneSpec, NewTask, Task
from fyke.core.urls import canonical, join, origin_of
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.jobs.asking import Asking
from fyke.jobs.follow import FOLLOW_FROM_HERE
from fyke.jobs.payload import Hop
from fyke.jobs.pieces import BadPieces, gunzipped, lines
from fyke.jobs.scratch import scratch
from fyke.jobs.sitemap import Entry, Report, read_sitemap
from fyke.jobs.sitemap_fetch import SITEMAPS, NotNow, SitemapFetch, Unfetched
from fyke.objects.local import full_disk
from fyke.objects.protocol import ObjectNotFound, ObjectStore
from fyke.politeness.policies import Policies
from fyke.politeness.robots import Robots

__all__ = ["PlanHandler", "PlanParts", "PlanPayload", "plan_prefix"]

log = structlog.get_logger("fyke.plan")

T = TypeVar("T")
CHUNK: Final = 1000
TURN: Final = 240.0  # seconds after which the reading of a long source goes back to the queue
ASKS: Final = 2.0  # seconds after which a plan that adds nothing asks whether its job goes on
MOST_DEPTH: Final = 4  # indexes within indexes
MOST_SUB_SITEMAPS: Final = 50_000
MOST_NOTES: Final = 3
# With these, /sitemap.xml is not there, or not for us: what the pages come to, they will say themselves.
NO_SITEMAP: Final = frozenset(
    {ErrorClass.NOT_FOUND, ErrorClass.HTTP_4XX, ErrorClass.BLOCKED, ErrorClass.ROBOTS}
)
NO_SITEMAPS: Final = ("not a sitemap", "the sitemap is empty")


class PlanPayload(Struct, frozen=True):
    """What a plan task carries. `start` entries have been added in earlier turns; `hop` is the request that
    is due, where it is not for the location itself."""

    number: int
    kind: str
    location: str
    first_seq: int
    depth: int = 0
    start: int = 0
    hop: Hop | None = None


class PlanParts(Struct, frozen=True):
    """What the handler works with; sitemaps are written in `directory` before they become objects."""

    client: HttpClient
    guard: Guard
    robots: Robots
    policies: Policies
    objects: ObjectStore
    retry: RetryPolicy = RetryPolicy()
    directory: Path | None = None


class _Halted(Exception):
    """The job takes no more URLs; its plan is resumed with it."""


def plan_prefix(job: int) -> str:
    """Where a job's plan keeps what it has fetched."""
    return f"plans/{public(job)}/"


class PlanHandler:
    """The handler of plan tasks."""

    def __init__(self, parts: PlanParts) -> None:
        self._parts = parts
        self._asking = Asking(parts.robots, parts.policies, SITEMAPS)

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        payload = msgspec.json.decode(task.payload, type=PlanPayload)
        fetch = SitemapFetch(self._parts.client, self._asking, task)
        reading = Reading(self._parts, fetch, task, payload, context)
        try:
            await reading.run()
        except _Halted:
            return reading.outcome(Verdict.SUCCEEDED, ())
        except NotNow as not_now:
            leave, hop = not_now.leave, not_now.hop
            waiting = None if hop is None else msgspec.json.encode(msgspec.structs.replace(payload, hop=hop))
            return reading.outcome(Verdict.REQUEUE, (), delay=leave.delay, payload=waiting, to=leave.to)
        except Unfetched as caught:
            stopped = caught.stopped
            delay = retry_delay(
                stopped.error_class,
                task.attempt,
                self._parts.retry,
                random.random(),  # noqa: S311 - jitter
                stopped.retry_after,
                least=stopped.until - clock.now(),
            )
            if delay is not None:
                again = clock.iso(clock.now() + delay)
                told = JobLog(redact(f"{payload.location}: {stopped.message}; asked again at {again}"))
                return reading.outcome(Verdict.RETRY, (told,), delay=delay, error_class=stopped.error_class)
            reading.report.lose(f"{stopped.error_class}: {stopped.message}")
            reading.skipped = stopped.skipped
        if reading.payload is not payload:
            return reading.outcome(Verdict.REQUEUE, (), payload=msgspec.json.encode(reading.payload))
        if not reading.report.ended and not reading.skipped:
            await self._parts.objects.delete(reading.key)  # a retry asks the site, not what it said before
        return reading.outcome(Verdict.SUCCEEDED, (reading.read_through(),))


class Reading:
    """One turn at one source."""

    def __init__(
        self, parts: PlanParts, fetch: SitemapFetch, task: Task, payload: PlanPayload, context: Context
    ) -> None:
        self.parts = parts
        self._fetch = fetch
        self.task = task
        self.payload = payload
        self.report = Report()
        self.skipped = False  # the source is not ours to have
        self._context = context
        self._first = payload
        self._urls: list[tuple[int, str]] = []
        self._sources: list[Source] = []
        self._count = 0  # entries so far: a URL's place does not depend on what others are worth
        self._usable = 0
        self._turn_ends = clock.monotonic() + TURN
        self._ask_at = clock.monotonic() + ASKS

    async def run(self) -> None:
        kind = self.payload.kind
        if kind == "list":
            await self._read_list()
        elif kind == "sitemap":
            url = self.payload.location
            await self._read_sitemap(url, await self._kept() or await self._fetched(url))
        else:
            await self._read_site()

    def outcome(
        self,
        verdict: str,
        effects: tuple[Effect, ...],
        *,
        delay: int = 0,
        payload: bytes | None = None,
        error_class: str | None = None,
        to: LaneSpec | None = None,
    ) -> Outcome:
        task = self.task
        return Outcome(
            task.id,
            task.lane,
            task.claims,
            verdict,
            (*self._fetch.learned, *effects),
            bytes_in=self._fetch.bytes_in,
            delay=delay,
            payload=payload,
            error_class=error_class,
            to=to,
        )

    def read_through(self) -> SourceRead:
        """The source is done with, well or badly."""
        report, payload = self.report, self.payload
        if report.warnings:
            reason = "; ".join(report.notes[:MOST_NOTES])
            log.warning(
                "source_warnings",
                job=public(self.task.job),
                source=payload.location,
                warnings=report.warnings,
                reason=reason,
            )
        message = None
        if report.notes:
            more = f" ({report.warnings} warnings)" if report.warnings > 1 else ""
            message = redact(f"{payload.location}: {'; '.join(report.notes[:MOST_NOTES])}{more}")
        return SourceRead(
            payload.number,
            self._count,
            payload.first_seq + self._count,
            report.complete,
            report.warnings,
            message,
            not report.ended and not self.skipped,
        )

    # --- lists ---

    async def _read_list(self) -> None:
        try:
            body = await self.parts.objects.open(self.payload.location)
            async with aclosing(body):
                async for some in lines(gunzipped(body, 1 << 40)):
                    for url in some:
                        await self._add(url)
                    if await self._turn_is_over():
                        return
        except ObjectNotFound as error:
            self.report.lose(error.message)
            return
        except BadPieces as problem:
            self.report.lose(str(problem))
            return
        await self._flush()
        self.report.ended = True

    # --- sitemaps ---

    async def _read_sitemap(self, url: str, body: AsyncGenerator[bytes, None]) -> None:
        async with aclosing(body):
            async for entries in read_sitemap(body, self.report):
                for entry in entries:
                    await self._take(url, entry)
                if await self._turn_is_over():
                    return
        await self._flush()
        await self._flush_sources()
        if self._count and not self._usable:
            self.report.lose("none of its URLs can be used")

    async def _take(self, base: str, entry: Entry) -> None:
        url = self._usable_url(base, entry.loc)
        if entry.index:
            self._count += 1
            if url is not None and self._may_go_deeper():
                await self._add_source(url, self.payload.depth + 1)
        elif url is None:
            self._count += 1
        else:
            await self._add(url)

    def _usable_url(self, base: str, text: str) -> str | None:
        try:
            url = canonical(text)
        except InvalidUrl as error:
            try:
                if not text.startswith("/"):  # no path: words, or another scheme
                    raise
                url = canonical(join(base, text))
            except InvalidUrl:
                self.report.warn(f"{hide_login(text)[:100]!r}: {error.message}")
                return None
            self.report.warn(f"{hide_login(text)[:100]!r} is not absolute")
        refusal = self.parts.guard.admit(url).refusal
        if refusal is not None:
            self.report.warn(f"{hide_login(url)[:100]}: {refusal}")
            return None
        self._usable += 1
        return url

    def _may_go_deeper(self) -> bool:
        if self.payload.depth >= MOST_DEPTH:
            self.report.lose(f"indexes are nested more than {MOST_DEPTH} deep")
        elif self._count > MOST_SUB_SITEMAPS:
            self.report.lose(f"the index names more than {MOST_SUB_SITEMAPS} sitemaps")
        else:
            return True
        return False

    # --- sites ---

    async def _read_site(self) -> None:
        origin = origin_of(self.payload.location)
        url = f"{origin}/sitemap.xml"
        body = await self._kept()
        if body is None and self.payload.hop is None and await self._read_robots(origin, url):
            return
        try:
            await self._read_sitemap(url, body or await self._fetched(url))
        except Unfetched as caught:
            if caught.stopped.error_class not in NO_SITEMAP:
                raise
        if not self._usable and self.payload is self._first:
            found = self.report
            unread = found.lost and not all(note.startswith(NO_SITEMAPS) for note in found.notes)
            await self._follow_links(found if unread else None)

    async def _read_robots(self, origin: str, guess: str) -> bool:
        """Whether robots.txt names sitemaps. If not, the `guess` is due, in this turn or in another."""
        leave = await self._while_wanted(self._fetch.robots(guess))
        for text in self.parts.robots.sitemaps(origin):
            url = self._usable_url(f"{origin}/robots.txt", text)
            if url is not None:
                await self._add_source(url, 1)
        if self._usable:
            self.report.ended = True
            await self._flush_sources()
            return True
        if not leave.go and leave.stopped is None:
            raise NotNow(leave, Hop(guess, ()))
        return False

    async def _follow_links(self, unread: Report | None) -> None:
        """Many sites answer whatever is asked for, so what is no sitemap is none; one that could not be read
        is told of."""
        start = self.payload.location
        if unread is None:
            self.report = Report(notes=["no sitemap was found: links are followed from here"], ended=True)
        else:
            self.report = Report(unread.warnings, [*unread.notes, "links are followed instead"], lost=True)
        task = NewTask(Kind.PAGE, 0, self.parts.policies.lane_for(start), start, FOLLOW_FROM_HERE)
        self._count = 1
        await self._emit([AddTasks((task,))])

    # --- fetching ---

    @property
    def key(self) -> str:
        return f"{plan_prefix(self.task.job)}{self.payload.number}"

    async def _kept(self) -> AsyncGenerator[bytes, None] | None:
        """The sitemap's bytes, if it was fetched before."""
        try:
            return await self.parts.objects.open(self.key)
        except ObjectNotFound:
            return None

    async def _fetched(self, url: str) -> AsyncGenerator[bytes, None]:
        """The sitemap's bytes, which are kept from now on."""
        with full_disk(), scratch(self.parts.directory) as directory:
            path = directory / "sitemap"
            await self._while_wanted(self._fetch.into(path, self.payload.hop or Hop(url, ())))
            await self.parts.objects.put_file(self.key, path)
        return await self.parts.objects.open(self.key)

    # --- adding ---

    async def _add(self, url: str) -> None:
        if self._count >= self.payload.start:
            self._urls.append((self.payload.first_seq + self._count, url))
        self._count += 1
        if len(self._urls) >= CHUNK:
            await self._flush()

    async def _add_source(self, url: str, depth: int) -> None:
        self._sources.append(Source("sitemap", url, self.parts.policies.lane_for(url), depth))
        if len(self._sources) >= CHUNK:
            await self._flush_sources()

    async def _flush(self) -> None:
        urls, self._urls = self._urls, []
        if urls:
            lane_for = self.parts.policies.lane_for
            tasks = tuple([NewTask(Kind.PAGE, seq, lane_for(url), url) for seq, url in urls])
            await self._emit([AddTasks(tasks)])

    async def _flush_sources(self) -> None:
        sources, self._sources = self._sources, []
        if sources:
            await self._emit([AddSources(tuple(sources))])

    async def _emit(self, effects: Sequence[Effect]) -> None:
        learned = self._fetch.learned
        halted = await self._context.emit((*learned, *effects))
        self._fetch.learned = self._fetch.learned[len(learned) :]  # more may have come meanwhile
        self._ask_at = clock.monotonic() + ASKS
        if halted is not None:
            raise _Halted

    async def _while_wanted(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for the site, but no longer than the job goes on."""
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait([task], timeout=ASKS))[0]:
                with suppress(StoreError):  # no reason to give up what is on its way: it is asked again
                    await self._emit(())
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _turn_is_over(self) -> bool:
        """Whether it is time to let others go on, and to come back: never before something was added, or
        a source that takes long to read up to where the last turn ended would never be read further."""
        if clock.monotonic() >= self._ask_at:
            await self._emit(())
        if clock.monotonic() < self._turn_ends or self._count <= self.payload.start:
            return False
        await self._flush()
        await self._flush_sources()
        self.payload = msgspec.structs.replace(self.payload, start=self._count)
        return True
