"""Jobs move on: counters, budgets, and the end, which comes once.

A job crawls until nothing of it is open, or until it has been stopped and nothing of it runs. Then one
last task, under the job 0 of Fyke itself, writes its exports and gives it its final state. Its events
are numbered under its lock: whoever reads on from a number misses none.
"""

from typing import Any

import msgspec
from msgspec import Struct, field

from fyke.core.ids import key16
from fyke.core.job import Counters, end_state
from fyke.core.outcome import Verdict
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.store.conn import Conn, Row
from fyke.store.queue.add import Plan, write_tasks
from fyke.store.queue.lanes import OWN_BAND, Lane
from fyke.store.queue.sources import count_failed
from fyke.store.queue.sql import write_lanes

__all__ = ["FINISH_LANE", "JobDelta", "JobState", "move_jobs", "step"]

FINISH_LANE = LaneSpec("fyke:finish", cap=4)

COLUMNS = (
    "id, state, phase, stop, close_reason, error_message, in_flight, open, planned, total, succeeded,"
    " failed, skipped, bytes, residential_bytes, budget_bytes, budget_residential, deadline_at, warnings,"
    " links_left, event_number, finished_at"
)
WRITTEN = tuple(c for c in COLUMNS.split(", ") if not c.startswith(("id", "budget", "deadline")))
LOCK = f"SELECT {COLUMNS} FROM jobs WHERE id IN $1 ORDER BY id {{lock}}"

_encode = msgspec.json.encode


class JobDelta(Struct):
    """What a batch adds to a job."""

    open: int = 0
    in_flight: int = 0
    total: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    bytes: int = 0
    residential_bytes: int = 0
    warnings: int = 0
    links_left: int = 0
    planned: bool | None = None
    close_reason: str | None = None
    ended: bool = False
    error_message: str | None = None
    pages: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def count(self, verdict: str) -> None:
        if verdict == Verdict.SUCCEEDED:
            self.succeeded += 1
        elif verdict == Verdict.SKIPPED:
            self.skipped += 1
        else:
            self.failed += 1


class JobState(Struct):
    """A job's row while it is locked; changed in place and written back."""

    id: int
    state: str
    phase: str
    stop: str | None
    close_reason: str | None
    error_message: str | None
    in_flight: int
    open: int
    planned: int
    total: int
    succeeded: int
    failed: int
    skipped: int
    bytes: int
    residential_bytes: int
    budget_bytes: int
    budget_residential: int
    deadline_at: int
    warnings: int
    links_left: int
    event_number: int
    finished_at: int | None

    def add(self, delta: JobDelta) -> None:
        self.open += delta.open
        self.in_flight = max(0, self.in_flight + delta.in_flight)
        self.total += delta.total
        self.succeeded += delta.succeeded
        self.failed += delta.failed
        self.skipped += delta.skipped
        self.bytes += delta.bytes
        self.residential_bytes += delta.residential_bytes
        self.warnings += delta.warnings
        self.links_left += delta.links_left
        if delta.planned is not None:
            self.planned = int(delta.planned)
        self.close_reason = delta.close_reason or self.close_reason
        self.error_message = delta.error_message or self.error_message


def step(job: JobState, now: int) -> bool:
    """Stop at a budget; whether the job's crawl is over now, and its last task is due."""
    if job.phase != "crawl":
        return False
    if job.stop is None and job.open > 0:
        job.stop = _budget_reached(job, now)
        job.close_reason = job.stop or job.close_reason
    if job.open > 0 and (job.stop is None or job.in_flight > 0):
        return False
    job.phase = "finish"
    return True


def _budget_reached(job: JobState, now: int) -> str | None:
    if job.budget_bytes and job.bytes >= job.budget_bytes:
        return "traffic_budget_mb"
    if job.budget_residential and job.residential_bytes >= job.budget_residential:
        return "residential_limit_mb"
    if job.deadline_at and now >= job.deadline_at:
        return "time_limit_s"
    return None


def final_state(job: JobState, unread: bool) -> str:
    """`unread`: a source of its URLs could not be had."""
    if job.stop == "cancel":
        return "cancelled"
    if job.stop or job.close_reason:
        return "stopped"
    if not job.planned or job.total == 0:
        return "failed"  # a crawl of nothing is no success
    state = end_state(Counters(job.total, job.succeeded, job.failed, job.skipped))
    return "partial" if unread and state == "succeeded" else state


async def move_jobs(conn: Conn, now: int, deltas: dict[int, JobDelta]) -> None:
    """Apply deltas under the jobs' locks, in the order of their ids."""
    ids = sorted(job for job in deltas if job)
    if not ids:
        return
    jobs = [JobState(*row) for row in await conn.fetch(LOCK, ids)]
    events: list[Row] = []
    over: list[int] = []
    for job in jobs:
        delta = deltas[job.id]
        job.add(delta)
        if delta.ended:
            unread = await count_failed(conn, job.id) > 0
            job.phase, job.state, job.finished_at = "done", final_state(job, unread), now
            job.close_reason = job.state if job.state == "cancelled" else job.close_reason or job.state
        elif step(job, now):
            over.append(job.id)
        job.event_number += 1
        events.append((job.id, job.event_number, now, "settled", _event(job, delta)))
    await conn.update("jobs", ("id",), WRITTEN, [_written(job) for job in jobs])
    await conn.insert("events", ("job", "number", "at", "type", "data"), events)
    if over:
        await add_finish_tasks(conn, over, now)


def _written(job: JobState) -> Row:
    return (job.id, *(getattr(job, name) for name in WRITTEN))


def _event(job: JobState, delta: JobDelta) -> str:
    data: dict[str, Any] = {
        "total": job.total,
        "succeeded": job.succeeded,
        "failed": job.failed,
        "skipped": job.skipped,
        "bytes": job.bytes,
        "planned": bool(job.planned),
        "state": job.state,  # in every event: claims move a job on without one
        "close_reason": job.close_reason,
    }
    if delta.pages:
        data["pages"] = delta.pages
    if delta.log:
        data["log"] = delta.log
    return _encode(data).decode()


async def add_finish_tasks(conn: Conn, jobs: list[int], now: int) -> None:
    """The last task of each job, in a lane of its own kind."""
    tasks = [
        NewTask(
            Kind.FINISH,
            0,
            FINISH_LANE,
            payload=_encode({"job": job}),
            dedupe=key16(f"finish {job}"),
        )
        for job in jobs
    ]
    lanes: dict[int, Lane] = {}
    await write_tasks(conn, 0, Plan(tasks, OWN_BAND), lanes, now)
    await write_lanes(conn, lanes.values())
