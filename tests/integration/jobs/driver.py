"""A worker reduced to what these tests need: it claims, runs handlers, settles, and keeps the queue up.

It stops when told to, and can be made to die: then its lease is taken back as upkeep would do it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from fyke.core.errors import LeaseLost
from fyke.core.handler import Handler
from fyke.core.job import ENDED, JobOptions
from fyke.core.outcome import Effect, Outcome, Verdict
from fyke.core.page import Failed, Page, Request
from fyke.core.retry import RetryPolicy
from fyke.core.task import JobInfo, Kind, Task, WorkerInfo
from fyke.egress.guard import Guard
from fyke.export.write import write
from fyke.fetch.client import HttpClient
from fyke.jobs.export import ExportParts
from fyke.jobs.finish import FinishHandler
from fyke.jobs.page import PageHandler, PageParts
from fyke.jobs.plan import PlanHandler, PlanParts
from fyke.jobs.submit import JobRequest, prepare
from fyke.objects.local import LocalObjects
from fyke.politeness.policies import Policies
from fyke.politeness.robots import Robots
from fyke.store.conn import Conn, Database
from fyke.store.jobs import Job, create_job, get_job
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue, upkeep
from fyke.store.queue.activity import settle_activity
from fyke.wiring import ROBOTS

QUICK = RetryPolicy(attempts=3, base=0.01, factor=1.0)


class Killed(Exception):
    """The worker died."""


class Emitter:
    def __init__(self, queue: SqlQueue, lease: int, task: Task) -> None:
        self.queue, self.lease, self.task = queue, lease, task

    async def emit(self, effects: Sequence[Effect]) -> str | None:
        task = self.task
        outcome = Outcome(task.id, task.lane, task.claims, Verdict.CONTINUE, tuple(effects))
        settled = await self.queue.settle(self.lease, [outcome])
        if settled.refused:
            raise LeaseLost
        return settled.halted.get(task.job)


class Bench(msgspec.Struct):
    """Everything that crawling takes, in one process."""

    directory: Path
    database: Database
    queue: SqlQueue
    objects: LocalObjects
    client: HttpClient
    guard: Guard
    policies: Policies
    robots: Robots
    handlers: dict[str, Handler]
    exports: ExportParts

    async def submit(self, request: JobRequest) -> int:
        new = await prepare(request, self.policies, self.guard, self.objects)
        return await self.database.write(partial(_create, new=new))

    async def job(self, job: int) -> Job:
        return await self.database.read(lambda conn: get_job(conn, job))

    async def rows(self, sql: str, *args: object) -> list[tuple[object, ...]]:
        found = await self.database.read(lambda conn: conn.fetch(sql, *args))
        return [tuple(row) for row in found]

    async def export(self, job: int, name: str) -> str:
        rows = await self.rows(
            "SELECT object FROM exports WHERE job = $1 AND type = $2 AND format = $3",
            job,
            *name.split("."),
        )
        body = await self.objects.open(str(rows[0][0]))
        return b"".join([piece async for piece in body]).decode()

    async def run(self, job: int, *, until: Callable[[Job], bool] | None = None, batch: int = 50) -> Job:
        """Work until the job has ended, or until `until` says so."""
        lease = await self.queue.open_lease(WorkerInfo("test", "here", 1))
        try:
            async with asyncio.timeout(60):
                while True:
                    seen = await self.job(job)
                    if seen.state in ENDED or (until is not None and until(seen)):
                        return seen
                    if not await self._round(lease, batch):
                        await asyncio.sleep(0.005)
        except Killed:
            await self.queue.expire(lease)
            while await self.database.write(upkeep.sweep):
                pass
            raise
        finally:
            await self.queue.close_lease(lease)

    async def once(self, batch: int = 50) -> None:
        """Claim, work and settle a single time."""
        lease = await self.queue.open_lease(WorkerInfo("test", "here", 1))
        await self._round(lease, batch)
        await self.queue.close_lease(lease)

    async def crawl(self, request: JobRequest) -> Job:
        return await self.run(await self.submit(request))

    async def _round(self, lease: int, batch: int) -> bool:
        for step in (upkeep.promote, settle_activity, upkeep.end_stopped):
            await self.database.write(step)
        claimed = await self.queue.claim(lease, batch)
        if not claimed.tasks and claimed.suspects:
            claimed = await self.queue.claim_suspect(lease)
        if not claimed.tasks:
            return False
        outcomes = await asyncio.gather(
            *[self._work(lease, task, claimed.jobs[task.job]) for task in claimed.tasks],
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        await self.queue.settle(lease, [o for o in outcomes if isinstance(o, Outcome)])
        return True

    async def _work(self, lease: int, task: Task, job: JobInfo) -> Outcome:
        if task.wait:
            await asyncio.sleep(task.wait / 1e6)
        return await self.handlers[task.kind](task, job, Emitter(self.queue, lease, task))


async def _create(conn: Conn, new: object) -> int:
    return await create_job(conn, new)  # type: ignore[arg-type]  # a Prepared, bound by partial


def free(**fields: object) -> Policies:
    """Policies without limits, with what a test wants otherwise."""
    text = msgspec.json.encode({"default": {"delay": 0, "concurrency": 0, **fields}}).decode()
    return Policies.with_file(text)


@asynccontextmanager
async def bench(
    directory: Path,
    url: str = "",
    *,
    policies: Policies | None = None,
    retry: RetryPolicy = QUICK,
    handlers: Mapping[str, Handler] | None = None,
    write: Any = write,
) -> AsyncIterator[Bench]:
    url = url or f"sqlite:///{directory}/fyke.db"
    await migrate(url)
    database = database_for(url)
    await database.open()
    guard = Guard(["127.0.0.0/8"])
    client = HttpClient(guard)
    await client.start()
    policies = policies or free()
    objects = LocalObjects(directory / "objects")

    async def get_robots(request: Request) -> Page | Failed:
        return await client.fetch(request, ROBOTS)

    robots = Robots(get_robots, "fyke")
    exports = ExportParts(database, objects, write)

    try:
        yield Bench(
            directory,
            database,
            SqlQueue(database),
            objects,
            client,
            guard,
            policies,
            robots,
            {
                Kind.PAGE: PageHandler(PageParts(client, robots, policies, retry)),
                Kind.PLAN: PlanHandler(PlanParts(client, guard, robots, policies, objects, retry)),
                Kind.FINISH: FinishHandler(exports, retry),
                **(handlers or {}),
            },
            exports,
        )
    finally:
        await robots.stop()
        await client.stop()
        await database.close()


def options(**fields: object) -> JobOptions:
    return msgspec.convert(
        {"max_concurrency": 0, "traffic_budget_mb": 0, "exports": ["csv"], **fields}, JobOptions
    )
