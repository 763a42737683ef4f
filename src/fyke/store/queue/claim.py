"""Claiming: one short transaction that hands out tasks and is the politeness decision besides.

Rows are locked in one order: lanes, then jobs, then tasks. A claim waits for no lock but that of its own
lease: lanes and jobs that somebody holds are left out. Under a lane's lock nobody else touches its queues
or its ready tasks.

Two lanes come after the job that they are for: one that was not there before a task came for it, and that
of the last tasks of jobs (`fyke:finish`), because only under a job's lock it shows that it is over. Two
transactions that meet there the wrong way round are told apart by the database, and one is run again.
"""

from collections.abc import Iterable, Mapping, Sequence

from fyke.core.errors import LeaseLost
from fyke.core.queue import Share
from fyke.core.task import Batch, Task
from fyke.store.conn import Conn, Row
from fyke.store.queue.choose import JobRow, QueueRow, Take, choose
from fyke.store.queue.lanes import AGEING, LANE_COLUMNS, OWN_BAND, Lane
from fyke.store.queue.sql import TASK_COLUMNS, runnable_suspects, write_lanes

__all__ = ["LEASE", "LOWEST", "READY_TASKS", "as_task", "check_lease", "claim", "lock_jobs"]

IDLE = 500_000  # µs after which an idle worker asks again of its own accord
FULL = 10_000  # µs after which it does where only caps keep it from work
LOWEST = -(1 << 62)


# With it, the task that runs alone under the lease.
LEASE = "SELECT until, (SELECT min(task) FROM alone WHERE lease = $1) FROM leases WHERE id = $1"

# When each band's first lane is due, and at the end the first suspect. Not min(look_at): before it has
# figures, PostgreSQL reads all of a band for that.
HEAD = "(SELECT look_at FROM lanes WHERE waiting = 1 AND band = {} ORDER BY look_at LIMIT 1)"
HEADS = "SELECT " + ", ".join(
    [HEAD.format(band) for band in range(OWN_BAND + 1)] + ["(SELECT min(due) FROM suspects)"]
)

READY_LANES = f"""
    SELECT {LANE_COLUMNS} FROM lanes
    WHERE waiting = 1 AND band = $1 AND look_at <= $2
    ORDER BY look_at LIMIT $3 {{skip}}"""

QUEUES = """
    SELECT lane, job, queued, low, turn FROM queues
    WHERE lane IN $1 AND active = 1 AND queued > 0"""

JOBS = """
    SELECT id, state, phase, stop, band, cap, in_flight, options, definition FROM jobs
    WHERE id IN $1 ORDER BY id {skip}"""

READY_TASKS = f"""
    SELECT {TASK_COLUMNS} FROM tasks
    WHERE lane = $1 AND job = $2 AND state = 0 AND place >= $3
    ORDER BY place"""

# Not state = 0: before it has figures, PostgreSQL looks for that in the index of all that is ready.
TAKE = """
    UPDATE tasks SET state = 2, lease = $1, claims = claims + 1 WHERE id IN $2 AND state < 1"""

BEGIN_JOBS = """
    UPDATE jobs SET state = 'running', started_at = coalesce(started_at, $2),
        deadline_at = CASE WHEN time_limit > 0 AND deadline_at = 0 THEN $2 + time_limit ELSE deadline_at END
    WHERE id IN $1 AND state = 'queued'"""


async def check_lease(conn: Conn, lease: int) -> int:
    """The time by the database's clock, if the lease still holds then. It is locked, so that no sweep
    ends it before what is claimed now can be seen to hang on it."""
    now = await conn.now()
    found = await conn.fetch(LEASE + "{lock}", lease)
    if not found or found[0][0] <= now:
        raise LeaseLost
    return now


async def claim(conn: Conn, lease: int, want: int, share: Share = Share.ALL) -> Batch:
    """Hand out up to `want` tasks of that share under the lease."""
    now = await check_lease(conn, lease)
    *heads, suspect = (await conn.fetch(HEADS))[0]
    if share is not Share.ALL:
        heads = [
            head if (band == OWN_BAND) == (share is Share.OWN) else None for band, head in enumerate(heads)
        ]
    lanes = await _lock_lanes(conn, heads, want, now)
    suspects = suspect is not None and suspect <= now and bool(await runnable_suspects(conn, now, 1, share))
    if not lanes:
        return Batch([], {}, _retry_in(heads, now), suspects)
    ids = [lane.id for lane in lanes]
    queues = [QueueRow(*row) for row in await conn.fetch(QUEUES, ids)]
    jobs = await lock_jobs(conn, {queue.job for queue in queues})
    takes = choose(lanes, queues, jobs, want, now)
    tasks = await _take(conn, takes, lease, now) if takes else []
    _heal(lanes, queues)
    await write_lanes(conn, lanes)
    await _write_queues(conn, takes)
    await _write_jobs(conn, takes, jobs, now)
    infos = {identity: jobs[identity].info() for identity in {0, *[task.job for task in tasks]}}
    if len(tasks) >= want:
        return Batch(tasks, infos, 0, suspects)
    # When all jobs are at their caps, a settling brings room, and wakes who is in the same process.
    least = 0 if takes or any(queue.job not in jobs for queue in queues) else FULL
    return Batch(tasks, infos, max(least, _soonest(lanes, now)), suspects)


async def lock_jobs(conn: Conn, ids: Iterable[int]) -> dict[int, JobRow]:
    """Lock jobs in the order of their ids, but for those that somebody holds."""
    jobs = {row[0]: JobRow(*row) for row in await conn.fetch(JOBS, sorted(ids))}
    # Fyke's own tasks are of a job without a row, that is always open.
    jobs[0] = JobRow(0, "running", "crawl", None, OWN_BAND, 0, 0, "{}", b"")
    return jobs


async def _lock_lanes(conn: Conn, heads: Row, want: int, now: int) -> list[Lane]:
    """Lock due lanes, those of the band that has waited longest (with its rank) first."""
    due = sorted(
        (0 if band == OWN_BAND else head + band * AGEING, band)
        for band, head in enumerate(heads)
        if head is not None and head <= now
    )
    lanes: list[Lane] = []
    for _, band in due:
        if len(lanes) >= want:
            break
        rows = await conn.fetch(READY_LANES, band, now, want - len(lanes))
        lanes += [Lane(*row) for row in rows]
    return lanes


def _retry_in(heads: Row, now: int) -> int:
    waits: list[int] = [head - now for head in heads if head is not None]
    return max(500, min([IDLE, *waits]))


def _soonest(lanes: Sequence[Lane], now: int) -> int:
    waits = [lane.look_at - now for lane in lanes if lane.waiting]
    return max(0, min([IDLE, *waits]))


async def _take(conn: Conn, takes: Sequence[Take], lease: int, now: int) -> list[Task]:
    """Read and lease the chosen tasks; give back to lane, queue and job what was not found."""
    wants = [(t.lane.id, t.queue.job, t.queue.low, len(t.starts)) for t in takes]
    rows = await conn.select_first(READY_TASKS, wants)
    if rows:
        touched = await conn.execute(TAKE, lease, [row[0] for row in rows])
        if touched != len(rows):
            raise RuntimeError(f"claimed {touched} of {len(rows)} tasks under the lane's lock")
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row[2], row[1]), []).append(row)
    tasks: list[Task] = []
    for take in takes:
        mine = found.get((take.lane.id, take.queue.job), [])
        mine.sort(key=lambda row: row[4])
        missing = len(take.starts) - len(mine)
        if missing:
            # The counter said more than there is from the low-water mark on: look from the start
            # next time, and if that was the start, there is nothing.
            take.lane.in_flight -= missing
            take.queue.queued = 0 if take.queue.low == LOWEST else take.queue.queued + missing
            take.queue.low = LOWEST
        elif mine:
            take.queue.low = mine[-1][4]
        for row, start in zip(mine, take.starts, strict=False):
            tasks.append(as_task(row, max(0, start - now), take.lane.spacing))
        del take.starts[len(mine) :]
    return tasks


def as_task(row: Row, wait: int, spacing: int, *, alone: bool = False) -> Task:
    """The task of a row as it was before it was claimed."""
    identity, job, lane, kind, _place, seq, claims, attempt, url, payload = row
    return Task(
        id=identity,
        job=job,
        lane=lane,
        kind=kind,
        seq=seq,
        url=url,
        payload=payload.encode(),
        attempt=attempt,
        claims=claims + 1,
        wait=wait,
        interval=spacing,
        alone=alone,
    )


def _heal(lanes: Sequence[Lane], queues: Sequence[QueueRow]) -> None:
    """A lane's count is the sum of its active queues', all of which were read."""
    sums: dict[int, int] = {}
    for queue in queues:
        sums[queue.lane] = sums.get(queue.lane, 0) + queue.queued
    for lane in lanes:
        lane.queued = sums.get(lane.id, 0)
        lane.waiting = int(lane.queued > 0 and (lane.cap == 0 or lane.in_flight < lane.cap))


async def _write_queues(conn: Conn, takes: Sequence[Take]) -> None:
    rows = [(t.queue.lane, t.queue.job, t.queue.queued, t.queue.low, t.queue.turn) for t in takes]
    await conn.update("queues", ("lane", "job"), ("queued", "low", "turn"), rows)


async def _write_jobs(conn: Conn, takes: Sequence[Take], jobs: Mapping[int, JobRow], now: int) -> None:
    taken: dict[int, int] = {}
    for take in takes:
        taken[take.queue.job] = taken.get(take.queue.job, 0) + len(take.starts)
    await conn.update("jobs", ("id",), ("+in_flight",), sorted((j, n) for j, n in taken.items() if j and n))
    fresh = [job for job, amount in taken.items() if amount and jobs[job].state == "queued"]
    if fresh:
        await conn.execute(BEGIN_JOBS, fresh, now)
