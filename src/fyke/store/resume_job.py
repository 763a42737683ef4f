"""Resume: a job that has ended goes on where it stopped.

The links that its budget of URLs had left out become tasks first, as far as the budget allows now, a chunk
in each transaction. The job stays ended until the last chunk, so it cannot end again in between; one whose
resume was cut off goes on by another. Locks are taken as everywhere: lanes, then the job.
"""

from collections.abc import Callable
from functools import partial

import msgspec

from fyke.core.errors import Conflict
from fyke.core.job import ENDED, JobOptions
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.store.conn import Conn, Database
from fyke.store.jobs import Job, check_planned, get_job, lock_job, set_budgets
from fyke.store.queue.add import Plan, lane_of, write_tasks
from fyke.store.queue.lanes import Lane
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sources import UNREAD, begin_next, lanes_to_begin, plan_waits, read_again
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["resume_job", "resume_step"]

CHUNK = 500
LEFT = "SELECT seq, url, payload FROM links_left WHERE job = $1 ORDER BY seq LIMIT $2"


async def resume_job(
    database: Database, job: int, lane_for: Callable[[str], LaneSpec], options: JobOptions | None = None
) -> Job:
    """Let a job go on, with other budgets if given."""
    while True:
        found = await database.write(
            partial(resume_step, job=job, lane_for=lane_for, options=options), urgent=True
        )
        if found is not None:
            return found


async def resume_step(
    conn: Conn,
    job: int,
    lane_for: Callable[[str], LaneSpec] | None = None,
    options: JobOptions | None = None,
    *,
    again: bool = True,
) -> Job | None:
    """Take up the next chunk of the links that were left out, if lanes are given for them, and in the end
    the sources that could not be had; the job when it goes on."""
    now = await conn.now()
    tasks = await _left(conn, job, lane_for) if lane_for is not None else []
    lanes = await lock_lanes(
        conn, [*await lanes_to_begin(conn, job), *[lane_of(task.lane) for task in tasks]]
    )
    found = await lock_job(conn, job)
    _check(found)
    if options is not None:
        check_planned(found, options)
        await set_budgets(conn, job, options)
    most = (options or msgspec.json.decode(found.options, type=JobOptions)).max_urls
    tasks = await _still_left(conn, job, tasks, max(0, most - found.total) if most else len(tasks))
    delta = await _take_up(conn, job, tasks, lanes, now)
    if len(tasks) == CHUNK:
        await write_lanes(conn, lanes.values())
        await move_jobs(conn, now, {job: delta})
        return None
    failed, first_seq = await read_again(conn, job) if again and found.planned else (0, 0)
    if found.planned and not found.open and not tasks and not failed:
        raise Conflict(_why_not(found, most))
    await _reopen(conn, job, now, still_left=found.links_left > len(tasks))
    if failed:
        delta.planned = not await begin_next(conn, job, first_seq, lanes, now)
        delta.open += int(not delta.planned)
    elif not found.planned and not await plan_waits(conn, job):
        first = await conn.fetch(
            "SELECT first_seq FROM sources WHERE job = $1 AND state IN $2 ORDER BY number LIMIT 1",
            job,
            UNREAD,
        )
        delta.open += int(await begin_next(conn, job, first[0][0] if first else 0, lanes, now))
    await write_lanes(conn, lanes.values())
    await move_jobs(conn, now, {job: delta})
    return await get_job(conn, job)


async def _left(conn: Conn, job: int, lane_for: Callable[[str], LaneSpec]) -> list[NewTask]:
    rows = await conn.fetch(LEFT, job, CHUNK)
    return [NewTask(Kind.PAGE, seq, lane_for(url), url, payload.encode()) for seq, url, payload in rows]


def _check(found: Job) -> None:
    if found.state not in ENDED:
        raise Conflict(f"the job is {found.state}: only one that has ended can be resumed")
    if found.state == "succeeded":
        raise Conflict("the job is succeeded: nothing is left to do")


def _why_not(found: Job, most: int) -> str:
    if found.close_reason != "max_urls":
        return f"the job is {found.state}: nothing is left to do; retry re-runs failures"
    if most and found.total >= most:
        return f"max_urls: all {most} URLs that the job may have are done; give more to go on"
    return "links beyond the first that were left out have not been kept: start the job anew"


async def _still_left(conn: Conn, job: int, tasks: list[NewTask], room: int) -> list[NewTask]:
    """Under the job's lock: another resume may have been first."""
    rows = await conn.fetch(
        "SELECT seq FROM links_left WHERE job = $1 AND seq IN $2", job, [task.seq for task in tasks]
    )
    still = {row[0] for row in rows}
    return [task for task in tasks if task.seq in still][:room]


async def _take_up(conn: Conn, job: int, tasks: list[NewTask], lanes: dict[int, Lane], now: int) -> JobDelta:
    if not tasks:
        return JobDelta()
    band = (await conn.fetch("SELECT band FROM jobs WHERE id = $1", job))[0][0]
    count = await write_tasks(conn, job, Plan(tasks, band), lanes, now)
    await conn.execute(
        "DELETE FROM links_left WHERE job = $1 AND seq IN $2", job, [task.seq for task in tasks]
    )
    return JobDelta(open=count, total=count, links_left=-count)


async def _reopen(conn: Conn, job: int, now: int, *, still_left: bool) -> None:
    """With fresh time for the time limit: it counts from here on. A job some of whose links are left out
    will have stopped at that budget, whatever else it does."""
    await conn.execute(
        "UPDATE jobs SET state = 'running', phase = 'crawl', stop = NULL, close_reason = $2,"
        " error_message = NULL, finished_at = NULL, deadline_at = 0, lively = 1 WHERE id = $1",
        job,
        "max_urls" if still_left else None,
    )
    await conn.execute(
        "UPDATE jobs SET deadline_at = $2 + time_limit WHERE id = $1 AND time_limit > 0", job, now
    )
