"""The queue alone: tasks that do nothing, claimed through lanes and settled, by one worker."""

import asyncio
import os
import resource
import tempfile
from functools import partial
from pathlib import Path
from statistics import quantiles
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
from fyke.store.conn import Conn, Database
from fyke.store.jobs import NewJob, create_job
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue
from fyke.store.queue.add import Plan, lane_of, write_tasks
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["QueueLoad", "measure_queue"]

CHUNK = 5_000


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


async def measure_queue(load: QueueLoad) -> dict[str, Any]:
    """Fill the queue, work it off, and say how fast that was."""
    with tempfile.TemporaryDirectory(prefix="fyke-bench-") as folder:
        url = load.database_url or f"sqlite:///{Path(folder) / 'queue.db'}"
        await migrate(url)
        database = database_for(url, synchronous=load.synchronous)
        await database.open()
        try:
            return await _measure(database, load)
        finally:
            await database.close()


async def _measure(database: Database, load: QueueLoad) -> dict[str, Any]:
    queue = TimedQueue(database)
    began = monotonic()
    await _fill(database, load)
    filled = monotonic() - began
    remaining = load.tasks
    done = asyncio.Event()

    async def nothing(task: Task, job: JobInfo, context: Context) -> Outcome:
        nonlocal remaining
        if task.kind == Kind.NOOP:
            remaining -= 1
            if remaining == 0:
                done.set()
        return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED)

    handlers: dict[str, Handler] = {Kind.NOOP: nothing, Kind.FINISH: nothing}
    options = WorkerOptions(
        WorkerInfo("bench", "localhost", os.getpid()), concurrency=load.concurrency, ahead=load.concurrency
    )
    worker = Worker(queue, handlers, options, EngineMetrics(CollectorRegistry()))
    cpu, began = _cpu(), monotonic()
    await worker.start()
    await done.wait()
    await worker.stop()
    seconds = monotonic() - began
    claims = sorted(queue.claims)
    return {
        "database": database.name,
        "tasks": load.tasks,
        "pending": load.pending,
        "lanes": load.lanes,
        "seconds": round(seconds, 3),
        "tasks_per_second": round(load.tasks / seconds),
        "cpu_us_per_task": round((_cpu() - cpu) / load.tasks * 1e6, 1),
        "enqueued_per_second": round((load.tasks + load.pending) / filled),
        "claim_p50_ms": round(claims[len(claims) // 2] * 1e3, 2),
        "claim_p99_ms": round(quantiles(claims, n=100)[98] * 1e3, 2) if len(claims) > 1 else None,
        "synchronous": load.synchronous if database.name == "sqlite" else "server's",
    }


async def _fill(database: Database, load: QueueLoad) -> None:
    """One job with all tasks, added a chunk at a time."""
    specs = [LaneSpec(f"lane-{n}") for n in range(load.lanes)]
    options = JobOptions(max_concurrency=0, max_urls=0)
    new = NewJob("bench", "tasks", os.urandom(16), "bench", options, tasks=(NewTask(Kind.NOOP, 0, specs[0]),))
    job = await database.write(lambda conn: create_job(conn, new))

    async def add(conn: Conn, start: int, end: int) -> None:
        tasks = [NewTask(Kind.NOOP, n, specs[n % load.lanes]) for n in range(start, end)]
        lanes = await lock_lanes(conn, {lane_of(task.lane) for task in tasks})
        band = (await conn.fetch("SELECT band FROM jobs WHERE id = $1", job))[0][0]
        now = await conn.now()
        await write_tasks(conn, job, Plan(tasks, 0, 0, False, band), lanes, now)
        await write_lanes(conn, lanes.values())
        await move_jobs(conn, now, {job: JobDelta(open=len(tasks))})

    for start in range(1, load.tasks + load.pending, CHUNK):
        end = min(start + CHUNK, load.tasks + load.pending)
        await database.write(partial(add, start=start, end=end))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
