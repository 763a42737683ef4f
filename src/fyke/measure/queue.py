"""The queue alone: tasks that do nothing, claimed through lanes and settled, by one worker."""

import asyncio
import os
from functools import partial
from typing import Any

from msgspec import Struct
from prometheus_client import CollectorRegistry

from fyke.core.clock import monotonic
from fyke.core.handler import Context, Handler
from fyke.core.job import JobOptions
from fyke.core.outcome import Outcome, Verdict
from fyke.core.task import Batch, JobInfo, Kind, LaneSpec, NewTask, Task, WorkerInfo
from fyke.engine.metrics import EngineMetrics
from fyke.engine.worker import Worker, WorkerOptions
from fyke.measure.common import cpu_seconds, middle, place, slow
from fyke.store.conn import Conn, Database
from fyke.store.jobs import NewJob, create_job
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue
from fyke.store.queue.add import lane_of, plan_tasks, write_tasks
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["Backlog", "QueueLoad", "measure_queue"]

CHUNK = 5_000
FEW = 10_000
LONGEST = 1800.0  # seconds that working off may take


class QueueLoad(Struct, frozen=True):
    """What to measure. An empty database URL means SQLite in a temporary directory."""

    database_url: str = ""
    tasks: int = 100_000
    lanes: int = 1
    concurrency: int = 400
    pending: int = 0  # tasks beyond those worked off, which stay in the queue
    synchronous: str = "FULL"


class TimedQueue(SqlQueue):
    """The queue with a watch on its claims."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.claims: list[float] = []

    async def claim(self, lease: int, want: int) -> Batch:
        began = monotonic()
        batch = await super().claim(lease, want)
        if batch.tasks:
            self.claims.append(monotonic() - began)
        return batch


class Backlog:
    """One job's tasks that do nothing, over some lanes; as many are added as are wanted."""

    def __init__(self, database: Database, lanes: int) -> None:
        self.database = database
        self.specs = [LaneSpec(f"lane-{n}") for n in range(lanes)]
        self.job = 0
        self.added = 0

    async def add(self, amount: int) -> float:
        """Add tasks, some thousands at a time; how many seconds it took."""
        began = monotonic()
        if not self.job:
            options = JobOptions(max_concurrency=0, max_urls=0)
            first = NewTask(Kind.NOOP, 0, self.specs[0])
            new = NewJob("bench", "tasks", os.urandom(16), "bench", options, tasks=(first,))
            self.job = await self.database.write(lambda conn: create_job(conn, new))
            self.added, amount = 1, amount - 1
        until = self.added + amount
        for start in range(self.added, until, CHUNK):
            await self.database.write(partial(self._add, start=start, end=min(start + CHUNK, until)))
        self.added = until
        return monotonic() - began

    async def _add(self, conn: Conn, start: int, end: int) -> None:
        tasks = [NewTask(Kind.NOOP, n, self.specs[n % len(self.specs)]) for n in range(start, end)]
        lanes = await lock_lanes(conn, {lane_of(task.lane) for task in tasks})
        now = await conn.now()
        await write_tasks(conn, self.job, await plan_tasks(conn, self.job, tasks), lanes, now)
        await write_lanes(conn, lanes.values())
        await move_jobs(conn, now, {self.job: JobDelta(open=len(tasks))})


class Worked(Struct, frozen=True):
    """Tasks worked off: in how many seconds, with how much of a core, and how long each claim took."""

    tasks: int
    seconds: float
    cpu: float
    claims: list[float]


async def measure_queue(load: QueueLoad) -> dict[str, Any]:
    """Fill the queue, work it off, and say how fast that was. With more pending than FEW, that is done
    twice in the same database: with few pending first, then with all."""
    with place() as folder:
        url = load.database_url or f"sqlite:///{folder / 'queue.db'}"
        await migrate(url)
        database = database_for(url, synchronous=load.synchronous)
        await database.open()
        try:
            return await _measure(database, load)
        finally:
            await database.close()


async def _measure(database: Database, load: QueueLoad) -> dict[str, Any]:
    backlog = Backlog(database, load.lanes)
    filled, few = 0.0, None
    if load.pending > FEW:
        filled += await backlog.add(load.tasks + FEW)
        few = await _work_off(database, load)
    filled += await backlog.add(load.tasks + load.pending - (FEW if few else 0))
    worked = await _work_off(database, load)
    found = {
        "database": database.name,
        "tasks": worked.tasks,
        "pending": load.pending,
        "lanes": load.lanes,
        "seconds": round(worked.seconds, 3),
        "tasks_per_second": round(worked.tasks / worked.seconds),
        "cpu_us_per_task": round(worked.cpu / worked.tasks * 1e6, 1),
        "enqueued_per_second": round(backlog.added / filled),
        "claims": len(worked.claims),
        "claim_p50_ms": middle(worked.claims),
        "claim_p99_ms": slow(worked.claims),
        "synchronous": load.synchronous if database.name == "sqlite" else "server's",
    }
    if few is not None:
        found |= {
            f"tasks_per_second_{FEW}_pending": round(few.tasks / few.seconds),
            f"claim_p50_ms_{FEW}_pending": middle(few.claims),
            f"claim_p99_ms_{FEW}_pending": slow(few.claims),
            "claim_p99_ratio": round(slow(worked.claims) / slow(few.claims), 2),
        }
    return found


async def _work_off(database: Database, load: QueueLoad) -> Worked:
    """Let one worker do as many tasks as the load says; what it has claimed beyond goes back."""
    queue = TimedQueue(database)
    tasks = 0
    done = asyncio.Event()

    async def nothing(task: Task, job: JobInfo, context: Context) -> Outcome:
        nonlocal tasks
        if task.kind == Kind.NOOP:
            tasks += 1
            if tasks == load.tasks:
                done.set()
        return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED)

    handlers: dict[str, Handler] = {Kind.NOOP: nothing, Kind.FINISH: nothing}
    options = WorkerOptions(
        WorkerInfo("bench", "localhost", os.getpid()), concurrency=load.concurrency, ahead=load.concurrency
    )
    worker = Worker(queue, handlers, options, EngineMetrics(CollectorRegistry()))
    cpu, began = cpu_seconds(), monotonic()
    await worker.start()
    try:
        async with asyncio.timeout(LONGEST):
            await done.wait()
    finally:
        await worker.stop()
    return Worked(tasks, monotonic() - began, cpu_seconds() - cpu, queue.claims)
