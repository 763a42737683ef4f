"""Idle latency: from asking for work to its start, when nothing else is going on. One at a time, in one
process, in two ways:

- the queue alone: from before the transaction that adds a task to the start of its handler;
- the whole server: from before an HTTP request makes a job of one URL to the start of its page's handler.
"""

import asyncio
import os
import random
from typing import Any

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry

from fyke.core.clock import monotonic
from fyke.core.errors import FykeError
from fyke.core.handler import Context, Handler
from fyke.core.job import JobOptions
from fyke.core.outcome import Outcome, Verdict
from fyke.core.task import JobInfo, Kind, LaneSpec, NewTask, Task, WorkerInfo
from fyke.engine.metrics import EngineMetrics
from fyke.engine.worker import Worker, WorkerOptions
from fyke.measure.common import middle, place, slow
from fyke.measure.server import Caller, Serve, serving
from fyke.settings import Settings
from fyke.store.conn import Database
from fyke.store.jobs import NewJob, create_job
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue

__all__ = ["LatencyLoad", "measure_latency"]

PAUSE = (0.005, 0.025)  # seconds between one and the next: at random, not to beat with any timer
WARM = 20  # the first are not counted: caches fill, code is loaded
LONGEST = 30.0  # seconds that a start may take


class LatencyLoad(Struct, frozen=True):
    """What to measure. An empty database URL means SQLite in a temporary directory."""

    database_url: str = ""
    samples: int = 500


class Starts:
    """A handler that notes when it starts, and does nothing."""

    def __init__(self) -> None:
        self.at = 0.0
        self.started = asyncio.Event()

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        self.at = monotonic()
        self.started.set()
        return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED)

    async def since(self, began: float) -> float:
        """Seconds from then to the next start."""
        async with asyncio.timeout(LONGEST):
            await self.started.wait()
        self.started.clear()
        return self.at - began


async def measure_latency(settings: Settings, serve: Serve, load: LatencyLoad) -> dict[str, Any]:
    """Measure both ways, on the same database."""
    with place() as folder:
        url = load.database_url or f"sqlite:///{folder / 'fyke.db'}"
        await migrate(url)
        database = database_for(url)
        await database.open()
        try:
            queue = await _queue(database, load.samples)
        finally:
            await database.close()
        async with serving(settings, serve, folder, url) as caller:
            api = await _api(caller, load.samples)
    return {
        "database": database.name,
        "samples": load.samples,
        "queue_p50_ms": middle(queue),
        "queue_p99_ms": slow(queue),
        "api_p50_ms": middle(api),
        "api_p99_ms": slow(api),
        "synchronous": "FULL" if database.name == "sqlite" else "server's",
    }


async def _queue(database: Database, samples: int) -> list[float]:
    queue, starts = SqlQueue(database), Starts()

    async def nothing(task: Task, job: JobInfo, context: Context) -> Outcome:
        return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED)

    options = WorkerOptions(WorkerInfo("bench", "localhost", os.getpid()))
    handlers: dict[str, Handler] = {Kind.NOOP: starts, Kind.FINISH: nothing}
    worker = Worker(queue, handlers, options, EngineMetrics(CollectorRegistry()))
    task = NewTask(Kind.NOOP, 0, LaneSpec("bench"))
    new = NewJob("bench", "tasks", os.urandom(16), "bench", JobOptions(max_concurrency=0), tasks=(task,))
    times = []
    await worker.start()
    for _ in range(WARM + samples):
        await _idle(worker)
        began = monotonic()
        await database.write(lambda conn: create_job(conn, new), urgent=True)
        queue.wake()
        times.append(await starts.since(began))
    await worker.stop()
    return times[WARM:]


async def _api(caller: Caller, samples: int) -> list[float]:
    starts = Starts()
    worker = caller.worker({Kind.PAGE: starts})
    times = []
    for number in range(WARM + samples):
        body = msgspec.json.encode(
            {"urls": [f"http://127.0.0.1:9/{number}"], "options": {"exports": [], "max_concurrency": 0}}
        )
        await _idle(worker)
        began = monotonic()
        status, answer = await caller.call("POST", "/api/v1/jobs", body)
        if status != 201:
            raise FykeError(f"the API answered {status}: {answer[:200]!r}")
        times.append(await starts.since(began))
    return times[WARM:]


async def _idle(worker: Worker) -> None:
    """Wait until nothing is held, and a moment more."""
    while True:
        await asyncio.sleep(random.uniform(*PAUSE))  # noqa: S311 - no secret
        if not worker.held:
            return
