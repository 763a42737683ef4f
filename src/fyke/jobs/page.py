"""The page handler: one URL from its turn in the lane to the rows that hold its result.

In this order: allowed hours, robots.txt, the fetch, whether the answer is a block, its status, the text,
the record, the comparison with the last snapshot. Whatever goes wrong is an error class; whether it is
tried again is one pure decision, and only the last attempt leaves a row.
"""

import random
from collections.abc import Callable
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from fyke.core import clock
from fyke.core.handler import Context
from fyke.core.job import JobOptions
from fyke.core.outcome import Compare, Effect, Outcome, PageRow, Verdict
from fyke.core.page import Blocked, Failed, Page, Request
from fyke.core.retry import RetryPolicy, retry_delay
from fyke.core.task import JobInfo, Task
from fyke.core.urls import host_of
from fyke.extract.cpu import extract_off_loop
from fyke.extract.encode import data_json, seo_json
from fyke.fetch.blocked import judge
from fyke.fetch.decode import decode
from fyke.fetch.options import PAGES, FetchOptions
from fyke.jobs.answers import Stopped, overgrown
from fyke.jobs.asking import Asking, Leave, Site
from fyke.jobs.follow import MOST_DEPTH, children
from fyke.jobs.page_log import PageLog
from fyke.jobs.payload import Hop, PagePayload, payload_of
from fyke.politeness.policies import Policies
from fyke.politeness.robots import Robots

__all__ = ["Bodies", "Fetcher", "PageHandler", "PageParts"]

LONGEST_TITLE: Final = 4000  # what the store keeps: comparisons are made with that


class Fetcher(Protocol):
    """What gets pages; see fetch.client.HttpClient."""

    async def fetch(self, request: Request, options: FetchOptions = ...) -> Page | Failed: ...


class Place(Protocol):
    """Where a body lies; see objects.segments.Place."""

    @property
    def key(self) -> str: ...

    @property
    def offset(self) -> int: ...

    @property
    def length(self) -> int: ...


class Bodies(Protocol):
    """What keeps bodies; see objects.segments.SegmentWriter."""

    async def append(self, page: Page) -> Place: ...


class PageParts(Struct, frozen=True):
    """What the handler works with. `bodies` keeps failures, and the pages of jobs that export warc;
    `chance` gives numbers in [0, 1), for the jitter of retries."""

    client: Fetcher
    robots: Robots
    policies: Policies
    retry: RetryPolicy = RetryPolicy()
    bodies: Bodies | None = None
    chance: Callable[[], float] = random.random


_read_options = msgspec.json.Decoder(JobOptions).decode


class PageHandler:
    """The handler of page tasks."""

    def __init__(self, parts: PageParts) -> None:
        self._parts = parts
        self._client = parts.client
        self._asking = Asking(parts.robots, parts.policies, PAGES)
        self._job_options: dict[bytes, JobOptions] = {}
        self._log = PageLog()

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        payload = payload_of(task.payload)
        url = payload.hop.url if payload.hop else task.url
        site = self._asking.site(url)
        leave = await self._asking.leave(task, url, site)
        if not leave.go:
            return await self._not_now(task, job, site, leave, payload, leave.learned)
        effects = leave.learned
        fetched, onward, learned = await self._fetch(url, site, payload.hop)
        if learned:
            effects += learned
        if onward is not None:
            hop, leave = onward
            return await self._not_now(task, job, site, leave, payload, effects, hop)
        if type(fetched) is Page and 200 <= fetched.status < 300:
            stopped = overgrown(fetched)
            if stopped is None:
                return await self._keep(task, job, site, fetched, payload, effects)
            return await self._stop(task, job, site, stopped, payload, effects)
        stopped, asked = self._asking.meaning(fetched, site)
        return await self._stop(task, job, site, stopped, payload, effects + asked)

    async def _not_now(
        self,
        task: Task,
        job: JobInfo,
        site: Site,
        leave: Leave,
        payload: PagePayload,
        effects: tuple[Effect, ...],
        hop: Hop | None = None,
    ) -> Outcome:
        """Nothing (more) is asked in this turn: the task waits for another one, at the `hop` that it has come
        to, or it is stopped."""
        if leave.stopped is not None:
            return await self._stop(task, job, site, leave.stopped, payload, effects)
        if hop is None:
            return _outcome(task, Verdict.REQUEUE, effects, delay=leave.delay)
        before = payload.hop.bytes_in if payload.hop else 0
        reached = msgspec.structs.replace(hop, bytes_in=hop.bytes_in + before)
        return Outcome(
            task.id,
            task.lane,
            task.claims,
            Verdict.REQUEUE,
            effects,
            hop.bytes_in,
            payload=msgspec.structs.replace(payload, hop=reached).encode(),
            to=leave.to,
        )

    # --- the fetch ---

    async def _fetch(
        self, url: str, site: Site, hop: Hop | None
    ) -> tuple[Page | Failed | Blocked, tuple[Hop, Leave] | None, tuple[Effect, ...]]:
        """What came; the redirect that is not to be followed in this turn, if it ends with one; and what was
        learned on the way. The client stops before origins whose robots.txt is not known, and what it has
        fetched by then is not fetched again."""
        request = Request(url, history=hop.history, cookies=hop.cookies) if hop else Request(url)
        fetched = await self._client.fetch(request, site.options)
        learned: tuple[Effect, ...] = ()
        while type(fetched) is Page and 300 <= fetched.status < 400:
            onward = await self._asking.onward(fetched)
            if onward is None:
                return fetched, None, learned
            hop, leave = onward
            learned += leave.learned
            if not leave.go:
                return fetched, onward, learned
            request = Request(hop.url, history=hop.history, cookies=hop.cookies)
            after = await self._client.fetch(request, self._asking.site(hop.url).options)
            fetched = msgspec.structs.replace(
                after,
                url=url,
                bytes_in=fetched.bytes_in + after.bytes_in,
                elapsed=fetched.elapsed + after.elapsed,
            )
        if type(fetched) is not Page:
            return fetched, None, learned
        return judge(fetched) or fetched, None, learned

    # --- after ---

    async def _keep(
        self,
        task: Task,
        job: JobInfo,
        site: Site,
        page: Page,
        payload: PagePayload,
        effects: tuple[Effect, ...],
    ) -> Outcome:
        options = self._job_options.get(job.options) or self._read(job.options)
        depth, hop = payload.follow, payload.hop
        record = await extract_off_loop(
            decode(page.body, page.headers), page.final_url, options.target, links=depth is not None
        )
        data = data_json(record)
        title, h1 = _cut(record.title), _cut(record.h1)
        row = PageRow(
            seq=task.seq,
            url=task.url,
            state=Verdict.SUCCEEDED,
            fetched_at=page.fetched_at,
            final_url=page.final_url,
            http_status=page.status,
            title=title,
            h1=h1,
            content_hash=record.text_hash,
            bytes_in=page.bytes_in + hop.bytes_in if hop else page.bytes_in,
            data_full=data,
            data_seo=seo_json(record),
            retry_count=task.attempt - 1,
            strategy_used=page.strategy,
            proxy_used=page.proxy,
            elapsed_ms=int(page.elapsed * 1000),
        )
        if "warc" in options.exports:
            row = await self._with_body(row, page)
        seen = Compare(
            task.seq,
            task.url,
            host_of(task.url) if hop else site.host,
            options.target,
            page.fetched_at,
            record.text_hash,
            title,
            h1,
            data,
        )
        if depth is not None:
            effects += children(record.links, page.final_url, depth, self._parts.policies)
            if depth >= MOST_DEPTH and record.links:
                self._log.links_left(task, site.host)
        self._log.completed(task, site.host, page, record)
        return Outcome(
            task.id, task.lane, task.claims, Verdict.SUCCEEDED, (row, seen, *effects), page.bytes_in
        )

    def _read(self, raw: bytes) -> JobOptions:
        if len(self._job_options) >= 1000:
            self._job_options.clear()
        options = self._job_options[raw] = _read_options(raw)
        return options

    async def _stop(
        self,
        task: Task,
        job: JobInfo,
        site: Site,
        stopped: Stopped,
        payload: PagePayload,
        effects: tuple[Effect, ...],
    ) -> Outcome:
        """Another attempt, or the row that says why there is no page."""
        fetched = stopped.fetched
        bytes_in = fetched.bytes_in if fetched is not None else 0
        error_class = stopped.error_class
        if stopped.until:
            effects += self._log.waits(task, site.host, stopped)
        delay = retry_delay(
            error_class,
            task.attempt,
            self._parts.retry,
            self._parts.chance(),
            stopped.retry_after,
            least=stopped.until - clock.now(),
        )
        if delay is not None:
            return _outcome(
                task, Verdict.RETRY, effects, delay=delay, bytes_in=bytes_in, error_class=error_class
            )
        verdict = Verdict.SKIPPED if stopped.skipped else Verdict.FAILED
        at = fetched.fetched_at if fetched is not None else clock.now()
        page = fetched if type(fetched) is Page else None
        row = PageRow(
            seq=task.seq,
            url=task.url,
            state=verdict,
            fetched_at=at,
            final_url=fetched.final_url if fetched is not None else None,
            http_status=fetched.status if fetched is not None else None,
            bytes_in=bytes_in + payload.hop.bytes_in if payload.hop else bytes_in,
            error_class=error_class,
            error_message=stopped.message,
            retry_count=task.attempt - 1,
            payload=payload.from_start(),
            strategy_used=fetched.strategy if fetched is not None else None,
            proxy_used=page.proxy if page else None,
            elapsed_ms=int(fetched.elapsed * 1000) if fetched is not None else 0,
        )
        if page is not None and not 300 <= page.status < 400:
            row = await self._with_body(row, page)
        rows: tuple[Effect, ...] = (row,)
        if stopped.gone:
            target = (self._job_options.get(job.options) or self._read(job.options)).target
            rows += (Compare(task.seq, task.url, site.host, target, at, gone=True),)
        self._log.stopped(task, site.host, stopped, row)
        return _outcome(task, verdict, (*rows, *effects), bytes_in=bytes_in, error_class=error_class)

    async def _with_body(self, row: PageRow, page: Page) -> PageRow:
        """Keep what the site answered: for warc, and as evidence of why there is no page."""
        if self._parts.bodies is None:
            return row
        place = await self._parts.bodies.append(page)
        return msgspec.structs.replace(
            row, body_object=place.key, body_offset=place.offset, body_length=place.length
        )


def _outcome(
    task: Task,
    verdict: str,
    effects: tuple[Effect, ...],
    *,
    delay: int = 0,
    bytes_in: int = 0,
    error_class: str | None = None,
) -> Outcome:
    return Outcome(
        task.id,
        task.lane,
        task.claims,
        verdict,
        effects,
        bytes_in=bytes_in,
        delay=delay,
        error_class=error_class,
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE]
