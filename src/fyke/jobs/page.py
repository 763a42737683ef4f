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
from fyke.core.outcome import Compare, Effect, Outcome, PageRow, SlowLane, Verdict
from fyke.core.page import Blocked, Failed, Page, Request
from fyke.core.retry import RetryPolicy, retry_delay
from fyke.core.task import JobInfo, Task
from fyke.core.urls import host_of, origin_of
from fyke.extract.cpu import extract_off_loop
from fyke.extract.encode import data_json, seo_json
from fyke.fetch.blocked import judge
from fyke.fetch.decode import decode
from fyke.fetch.options import PAGES, FetchOptions
from fyke.jobs.answers import Stopped, disallowed, leads_to, stopped_by
from fyke.jobs.follow import MOST_DEPTH, children
from fyke.jobs.page_log import PageLog
from fyke.jobs.payload import Hop, PagePayload, payload_of
from fyke.politeness.adapt import crawl_delay, slow_down
from fyke.politeness.policies import Policies
from fyke.politeness.policy import Policy
from fyke.politeness.robots import Robots, RobotsAnswer

__all__ = ["Bodies", "Fetcher", "PageHandler", "PageParts"]

LONGEST_TITLE: Final = 4000  # what the store keeps: comparisons are made with that
MOST_LEARNED: Final = 5  # origins whose robots.txt is fetched on the way of one page's redirects
SITES: Final = 50_000


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


class _Site(Struct, frozen=True):
    """What holds for a host."""

    host: str
    policy: Policy
    obeys: bool
    timed: bool
    options: FetchOptions


class _Onward(Struct, frozen=True):
    """A redirect whose target is to wait for a turn of its own."""

    url: str
    page: Page


_read_options = msgspec.json.Decoder(JobOptions).decode


class PageHandler:
    """The handler of page tasks."""

    def __init__(self, parts: PageParts) -> None:
        self._parts = parts
        self._robots = parts.robots
        self._client = parts.client
        self._sites: dict[str, _Site] = {}
        self._fetch_options: dict[tuple[str | None, bool], FetchOptions] = {}
        self._job_options: dict[bytes, JobOptions] = {}
        self._log = PageLog()

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        payload = payload_of(task.payload)
        url = payload.hop.url if payload.hop else task.url
        site = self._sites.get(url.split("/", 3)[2]) or self._site(url)
        if site.timed:
            wait = site.policy.opens_in(clock.now())
            if wait:
                return _outcome(task, Verdict.REQUEUE, (), delay=wait)
        effects: tuple[Effect, ...] = ()
        if site.obeys:
            answer = self._robots.peek(url)
            if answer is None and task.interval:
                return await self._spend_on_robots(task, url, site)
            if answer is None:
                answer = await self._robots.allowed(url)
            if answer.fetched_now is not None:
                effects = (answer.fetched_now,)
            if answer.crawl_delay is not None:
                effects += _delay_asked(task, site, answer)
            if not answer.allowed:
                return await self._stop(task, job, site, disallowed(answer), payload, effects)
        fetched, learned = await self._fetch(url, site, payload.hop)
        if learned:
            effects += learned
        if type(fetched) is Page and 200 <= fetched.status < 300:
            return await self._keep(task, job, site, fetched, payload, effects)
        if isinstance(fetched, _Onward):
            return self._wait_for_turn(task, fetched, payload, effects)
        effects += _slowed(fetched, site)
        return await self._stop(task, job, site, stopped_by(fetched), payload, effects)

    # --- before ---

    def _site(self, url: str) -> _Site:
        host = host_of(url)
        policy = self._parts.policies.policy_for(host)
        limited = policy.delay > 0  # what is sent again at once has no turn in such a lane
        options = self._fetch_options.get((policy.user_agent, limited))
        if options is None:
            options = msgspec.structs.replace(
                PAGES, user_agent=policy.user_agent, once=limited, may_follow=self._may_follow
            )
            self._fetch_options[policy.user_agent, limited] = options
        site = _Site(host, policy, policy.robots == "obey", bool(policy.hours), options)
        if len(self._sites) >= SITES:
            self._sites.clear()
        self._sites[url.split("/", 3)[2]] = site
        return site

    async def _spend_on_robots(self, task: Task, url: str, site: _Site) -> Outcome:
        """The lane's rate is limited: this task's turn is used for robots.txt, and it queues again."""
        row = await self._robots.learn(origin_of(url))
        effects: tuple[Effect, ...] = (row,)
        answer = self._robots.peek(url)
        if answer is not None and answer.crawl_delay is not None:
            effects += _delay_asked(task, site, answer)
        return _outcome(task, Verdict.REQUEUE, effects)

    # --- the fetch ---

    def _may_follow(self, here: str, there: str) -> bool:
        """Whether a redirect may be followed at once: not to a lane that has limits, nor to what robots.txt
        disallows, nor to an origin whose robots.txt is still to be fetched."""
        site = self._sites.get(there.split("/", 3)[2]) or self._site(there)
        if not self._is_free(here, there, site):
            return False
        if not site.obeys:
            return True
        answer = self._robots.peek(there)
        return answer is not None and answer.allowed and answer.crawl_delay is None

    def _is_free(self, here: str, there: str, site: _Site) -> bool:
        """Whether a request may go there with no turn of its own; the place in its own lane it holds."""
        lane = self._parts.policies.lane_for(there)
        held = lane.cap == 0 or lane == self._parts.policies.lane_for(here)
        return lane.interval == 0 and held and not site.timed

    def _wait_for_turn(
        self, task: Task, onward: "_Onward", payload: PagePayload, effects: tuple[Effect, ...]
    ) -> Outcome:
        """The next request goes to a lane with limits: the task waits there like any other."""
        page = onward.page
        spent = payload.hop.bytes_in if payload.hop else 0
        hop = Hop(onward.url, (*page.history, page.final_url), page.cookies, spent + page.bytes_in)
        return Outcome(
            task.id,
            task.lane,
            task.claims,
            Verdict.REQUEUE,
            effects,
            page.bytes_in,
            payload=msgspec.structs.replace(payload, hop=hop).encode(),
            to=self._parts.policies.lane_for(onward.url),
        )

    async def _fetch(
        self, url: str, site: _Site, hop: Hop | None
    ) -> tuple["Page | Failed | Blocked | Stopped | _Onward", tuple[Effect, ...]]:
        """The page, and rows of what was learned on its way."""
        request = Request(url, history=hop.history, cookies=hop.cookies) if hop else Request(url)
        learned: tuple[Effect, ...] = ()
        bytes_in = 0
        for _ in range(MOST_LEARNED):
            fetched = await self._client.fetch(request, site.options)
            if bytes_in:
                fetched = msgspec.structs.replace(fetched, bytes_in=fetched.bytes_in + bytes_in)
            if type(fetched) is not Page:
                return fetched, learned
            if not 300 <= fetched.status < 400:
                return judge(fetched) or fetched, learned
            target = leads_to(fetched)
            if target is None:
                break
            there = self._sites.get(target.split("/", 3)[2]) or self._site(target)
            if not self._is_free(fetched.final_url, target, there):
                return _Onward(target, fetched), learned
            if not there.obeys:
                break
            answer = await self._robots.allowed(target)
            if answer.fetched_now is not None:
                learned += (answer.fetched_now,)
            if not answer.allowed:
                return disallowed(answer, fetched), learned
            if answer.crawl_delay is not None:
                return _Onward(target, fetched), learned
            if answer.fetched_now is None:
                break
            bytes_in = fetched.bytes_in
        return fetched, learned

    # --- after ---

    async def _keep(
        self,
        task: Task,
        job: JobInfo,
        site: _Site,
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
        site: _Site,
        stopped: Stopped,
        payload: PagePayload,
        effects: tuple[Effect, ...],
    ) -> Outcome:
        """Another attempt, or the row that says why there is no page."""
        fetched = stopped.fetched
        bytes_in = fetched.bytes_in if fetched is not None else 0
        error_class = stopped.error_class
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


def _delay_asked(task: Task, site: _Site, answer: RobotsAnswer) -> tuple[SlowLane, ...]:
    """The Crawl-delay, unless the lane keeps it already."""
    slow = crawl_delay(answer.crawl_delay, site.policy)
    return (slow,) if slow is not None and slow.interval > task.interval else ()


def _slowed(fetched: Page | Failed | Blocked | Stopped, site: _Site) -> tuple[SlowLane, ...]:
    if isinstance(fetched, Stopped):
        return ()
    slow = slow_down(fetched, site.policy)
    return (slow,) if slow is not None else ()
