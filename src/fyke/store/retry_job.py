"""Retry: failed pages become tasks again, at their old places in the job.

Their rows stay, as `queued`, until the new results take their place; what their tasks carried (how deep a
page lies whose links are followed) stands in them, and goes along again. A chunk of pages is one
transaction; locks are taken as everywhere: lanes, then the job, then its rows. A job that had ended stays
so until the last chunk, so it cannot end again in between; one whose retry was cut off goes on by a resume.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fyke.core.clock import monotonic
from fyke.core.errors import Conflict, JobNotFound, UnknownName
from fyke.core.job import ENDED
from fyke.core.page import ErrorClass
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.core.urls import host_of
from fyke.store.conn import Conn, Database
from fyke.store.queue.add import Plan, lane_of, write_tasks
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sources import count_failed, lanes_to_begin
from fyke.store.queue.sql import lock_lanes, write_lanes
from fyke.store.resume_job import resume_step

__all__ = ["ERROR_CLASSES", "failed_pages", "retry_job", "retry_pages"]

CHUNK = 500
WINDOW = 5_000  # pages looked at by one read
LONGEST_WAIT = 60.0  # seconds for a job that writes its exports between two chunks
FAILED = ["failed", "quarantined"]
ERROR_CLASSES = tuple(sorted(value for name, value in vars(ErrorClass).items() if name.isupper()))

Page = tuple[int, str, bytes]  # its place, its URL, and what its task carried


async def retry_job(
    database: Database,
    job: int,
    lane_for: Callable[[str], LaneSpec],
    error_class: str | None = None,
    host: str | None = None,
) -> int:
    """Run a job's failures again: all, or those of an error class or a host. How many there were; a job
    that had ended goes on if there were any. All are also its sources that could not be had."""
    if error_class is not None and error_class not in ERROR_CLASSES:
        raise UnknownName("error class", error_class, ERROR_CLASSES)
    await database.read(partial(_state, job=job))
    count = 0
    tasks: list[NewTask] = []
    after: int | None = -1
    while after is not None:
        after, pages = await database.read(
            partial(failed_pages, job=job, after=after, error_class=error_class)
        )
        chosen = [page for page in pages if host is None or host_of(page[1]) == host]
        tasks += [NewTask(Kind.PAGE, seq, lane_for(url), url, payload) for seq, url, payload in chosen]
        while len(tasks) > CHUNK:
            count += await _retry_chunk(
                database, partial(retry_pages, job=job, tasks=tasks[:CHUNK], last=False)
            )
            del tasks[:CHUNK]
    sources = error_class is None and host is None
    if not tasks and not sources:
        return count
    return count + await _retry_chunk(database, partial(retry_pages, job=job, tasks=tasks, sources=sources))


async def _retry_chunk(database: Database, chunk: Callable[[Conn], Awaitable[int]]) -> int:
    """A job that runs may come to its end between two chunks: its last task is waited for."""
    gives_up = monotonic() + LONGEST_WAIT
    while True:
        try:
            return await database.write(chunk, urgent=True)
        except Conflict:
            if monotonic() > gives_up:
                raise
            await asyncio.sleep(0.1)


async def _state(conn: Conn, job: int, lock: str = "") -> tuple[str, int]:
    """State and band. Conflict while the job is about to end."""
    rows = await conn.fetch(f"SELECT state, band, phase FROM jobs WHERE id = $1 AND hidden = 0{lock}", job)
    if not rows:
        raise JobNotFound
    state, band, phase = rows[0]
    if state not in ENDED and (phase != "crawl" or state == "cancelling"):
        raise Conflict(f"the job is {state} and about to end: retry when it has")
    return state, band


async def failed_pages(
    conn: Conn, job: int, after: int, error_class: str | None
) -> tuple[int | None, list[Page]]:
    """Failures among the next pages of a job: where to go on after (None at the end), and which."""
    edge = await conn.fetch(
        f"SELECT seq FROM pages WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT 1 OFFSET {WINDOW}", job, after
    )
    last = edge[0][0] if edge else None
    rows = await conn.fetch(
        "SELECT seq, url, coalesce(payload, ''), error_class FROM pages"
        " WHERE job = $1 AND seq > $2 AND seq <= $3 AND state IN $4 ORDER BY seq",
        job,
        after,
        (1 << 63) - 1 if last is None else last,
        FAILED,
    )
    return last, [(row[0], row[1], row[2].encode()) for row in rows if error_class in (None, row[3])]


async def retry_pages(
    conn: Conn, job: int, tasks: Sequence[NewTask], last: bool = True, sources: bool = False
) -> int:
    """Make tasks of those pages that are (still) failed; how many. At most CHUNK at a time; with the last
    ones a job that has ended goes on, and has its failed sources read again, if these are to be."""
    now = await conn.now()
    to_begin = await lanes_to_begin(conn, job) if last else []  # the job's resume locks them, too
    lanes = await lock_lanes(conn, [*to_begin, *[lane_of(task.lane) for task in tasks]])
    state, band = await _state(conn, job, lock="{lock}")
    rows = await conn.fetch(
        "SELECT seq FROM pages WHERE job = $1 AND seq IN $2 AND state IN $3 ORDER BY seq {lock}",
        job,
        [task.seq for task in tasks],
        FAILED,
    )
    failed = {row[0] for row in rows}
    again = [task for task in tasks if task.seq in failed]
    if again:
        await conn.execute(
            "UPDATE pages SET state = 'queued' WHERE job = $1 AND seq IN $2", job, sorted(failed)
        )
        count = await write_tasks(conn, job, Plan(again, band), lanes, now)
        await write_lanes(conn, lanes.values())
        await move_jobs(conn, now, {job: JobDelta(open=count, failed=-count)})
    if not last or state not in ENDED:
        return len(again)
    waiting = await conn.fetch("SELECT 1 FROM jobs WHERE id = $1 AND open > 0", job)
    unread = await count_failed(conn, job) if sources else 0
    if waiting or unread:
        await resume_step(conn, job, again=sources)
    return len(again) + unread
