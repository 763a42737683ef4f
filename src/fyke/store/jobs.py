"""Jobs: made, read, listed, and told to stop or go on."""

from math import ceil
from typing import Any

import msgspec
from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.errors import Conflict, Invalid, JobNotFound
from fyke.core.ids import new_id
from fyke.core.job import ENDED, JobOptions
from fyke.core.outcome import AddSources, Source
from fyke.core.task import NewTask
from fyke.store.conn import Conn, Row
from fyke.store.queue.add import lane_of, plan_tasks, write_tasks
from fyke.store.queue.lanes import BANDS
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sources import add_sources, begin_next
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = [
    "Job",
    "JobFilter",
    "NewJob",
    "band_of",
    "cancel_job",
    "change_options",
    "check_planned",
    "count_open",
    "create_job",
    "get_job",
    "known_urls",
    "latest_of",
    "list_jobs",
    "lock_job",
    "set_budgets",
]

COLUMNS = (
    "id, source_kind, source, definition, domain, target, options, state, phase, stop, close_reason,"
    " error_message, in_flight, open, planned, total, succeeded, failed, skipped, bytes, residential_bytes,"
    " warnings, links_left, event_number, created_at, started_at, finished_at"
)
MB = 1_000_000


class Job(Struct, frozen=True):
    """A job's row."""

    id: int
    source_kind: str
    source: str
    definition: bytes
    domain: str
    target: str
    options: str
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
    warnings: int
    links_left: int
    event_number: int
    created_at: int
    started_at: int | None
    finished_at: int | None


class NewJob(Struct, frozen=True):
    """What a job is made of: either tasks at once (a short list), or sources that a plan reads."""

    source_kind: str
    source: str
    definition: bytes
    domain: str
    options: JobOptions
    tasks: tuple[NewTask, ...] = ()
    sources: tuple[Source, ...] = ()


class JobFilter(Struct, frozen=True):
    """Which jobs to list, newest first, after the one with the id `after`."""

    domain: str | None = None
    state: str | None = None
    created_from: int | None = None
    created_to: int | None = None
    after: int | None = None
    limit: int = 50


def band_of(priority: int, size: int | None) -> int:
    """The band a job waits in, 0 first: by its priority (10 is highest, 0 usual, -10 lowest), then a
    small job before a large one; a plan not read yet counts as large."""
    rank = 3 if size is None or size > 1000 else 2 if size > 10 else 1
    steps = (priority + (4 if priority > 0 else -4)) // 5 if priority else 0
    return min(BANDS - 1, max(0, rank + 1 - steps))


async def create_job(conn: Conn, new: NewJob) -> int:
    """Insert the job and the first of its tasks; its id."""
    identity, now = new_id(), await conn.now()
    band = band_of(new.options.priority, None if new.sources else len(new.tasks))
    await conn.insert("jobs", _NEW_COLUMNS, [_new_row(identity, new, band, now)])
    lanes = await lock_lanes(conn, [lane_of(task.lane) for task in new.tasks])
    delta = JobDelta()
    if new.tasks:
        plan = await plan_tasks(conn, identity, new.tasks)
        delta.open += await write_tasks(conn, identity, plan, lanes, now)
        delta.total += plan.pages
        delta.close_reason = "max_urls" if plan.left else None
    if new.sources:
        await add_sources(conn, identity, AddSources(new.sources))
        delta.open += int(await begin_next(conn, identity, 0, lanes, now))
    delta.planned = not new.sources
    await write_lanes(conn, lanes.values())
    await move_jobs(conn, now, {identity: delta})
    return identity


_NEW_COLUMNS = (
    "id",
    "source_kind",
    "source",
    "definition",
    "domain",
    "target",
    "options",
    "state",
    "phase",
    "band",
    "cap",
    "max_urls",
    "budget_bytes",
    "budget_residential",
    "time_limit",
    "created_at",
)


def _new_row(identity: int, new: NewJob, band: int, now: int) -> Row:
    options = new.options
    return (
        identity,
        new.source_kind,
        new.source,
        new.definition,
        new.domain[:255],
        options.target,
        msgspec.json.encode(options).decode(),
        "queued",
        "crawl",
        band,
        options.max_concurrency,
        options.max_urls,
        ceil(options.traffic_budget_mb * MB),
        ceil(options.residential_limit_mb * MB),
        int(options.time_limit_s * SECOND),
        now,
    )


async def get_job(conn: Conn, job: int) -> Job:
    rows = await conn.fetch(f"SELECT {COLUMNS} FROM jobs WHERE id = $1 AND hidden = 0", job)
    if not rows:
        raise JobNotFound
    return _job(rows[0])


def _job(row: Row) -> Job:
    values = list(row)
    values[3] = bytes(values[3])
    return Job(*values)


async def list_jobs(conn: Conn, wanted: JobFilter) -> list[Job]:
    """Newest first."""
    conditions, args = ["hidden = 0"], list[Any]()
    for condition, value in (
        ("domain = ${}", wanted.domain),
        ("state = ${}", wanted.state),
        ("created_at >= ${}", wanted.created_from),
        ("created_at < ${}", wanted.created_to),
        ("id < ${}", wanted.after),
    ):
        if value is not None:
            args.append(value)
            conditions.append(condition.format(len(args)))
    args.append(wanted.limit)
    rows = await conn.fetch(
        f"SELECT {COLUMNS} FROM jobs WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ${len(args)}",
        *args,
    )
    return [_job(row) for row in rows]


async def latest_of(conn: Conn, definition: bytes) -> Job | None:
    """The newest job of a definition."""
    rows = await conn.fetch(
        f"SELECT {COLUMNS} FROM jobs WHERE definition = $1 AND hidden = 0 ORDER BY id DESC LIMIT 1",
        definition,
    )
    return _job(rows[0]) if rows else None


async def cancel_job(conn: Conn, job: int) -> Job:
    """Hand out no more of the job's tasks; what runs may finish."""
    now = await conn.now()
    found = await lock_job(conn, job)
    if found.state not in ENDED and found.phase != "crawl":
        raise Conflict(f"the job is {found.state} and about to end: nothing of it can be cancelled any more")
    if found.state not in ("queued", "running"):
        raise Conflict(f"the job is {found.state}: only a queued or running job can be cancelled")
    await conn.execute("UPDATE jobs SET state = 'cancelling', stop = 'cancel' WHERE id = $1", job)
    await move_jobs(conn, now, {job: JobDelta()})
    return await get_job(conn, job)


async def change_options(conn: Conn, job: int, options: JobOptions) -> None:
    """Other budgets and formats for a job that has not ended."""
    check_planned(await lock_job(conn, job), options)
    await set_budgets(conn, job, options)


async def known_urls(conn: Conn, job: int) -> set[bytes]:
    """The keys of all URLs of a job: for a short list."""
    return {bytes(row[0]) for row in await conn.fetch("SELECT url_key FROM seen WHERE job = $1", job)}


async def count_open(conn: Conn) -> int:
    """How many jobs have not ended."""
    rows = await conn.fetch("SELECT count(*) FROM jobs WHERE hidden = 0 AND state NOT IN $1", sorted(ENDED))
    return int(rows[0][0])


def check_planned(job: Job, options: JobOptions) -> None:
    """Refuse a budget of URLs that is spent already: what is planned is not taken back."""
    if options.max_urls and options.max_urls < job.total:
        message = f"{job.total} URLs are planned already: give that many or more, 0 for no limit"
        raise Invalid(
            f"max_urls: {options.max_urls} is too low, {message}",
            fields=[{"field": "options.max_urls", "message": message}],
        )


async def set_budgets(conn: Conn, job: int, options: JobOptions) -> None:
    row = _new_row(job, NewJob("", "", b"", "", options), 0, 0)
    values = dict(zip(_NEW_COLUMNS, row, strict=True))
    names = ("options", "cap", "max_urls", "budget_bytes", "budget_residential", "time_limit")
    await conn.update("jobs", ("id",), names, [(job, *(values[n] for n in names))])


async def lock_job(conn: Conn, job: int) -> Job:
    rows = await conn.fetch(f"SELECT {COLUMNS} FROM jobs WHERE id = $1 AND hidden = 0{{lock}}", job)
    if not rows:
        raise JobNotFound
    return _job(rows[0])
