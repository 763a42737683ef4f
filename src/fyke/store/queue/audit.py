"""The audit: counters held against the rows they count, a few lanes or jobs at a time, under their locks.

Counters move in the same transactions as what they count, so it should never find anything; if it does,
what had gone wrong ends here instead of for good.
"""

from itertools import accumulate

from fyke.store.conn import Conn
from fyke.store.queue.activity import ACTIVE, RESTING
from fyke.store.queue.lanes import Lane
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["audit", "audit_jobs"]

LANES = 100
JOBS = 20
TASKS = 20_000  # counted in one step, or those of one lane: its lock is held that long
LOWEST = -(1 << 62)

OPEN = """
    SELECT (SELECT coalesce(sum(queued), 0) FROM queues WHERE job = $1)
    + (SELECT count(*) FROM delays WHERE job = $1) + (SELECT count(*) FROM suspects WHERE job = $1)
    + (SELECT count(*) FROM tasks WHERE lease IS NOT NULL AND job = $1),
    (SELECT count(*) FROM tasks WHERE lease IS NOT NULL AND job = $1)"""


async def audit(conn: Conn, after: int = -1) -> tuple[int, int]:
    """Set the counters of lanes beyond id `after` right, if they are not, and those of their queues:
    (corrected, last id, or -1 at the end)."""
    found = await conn.fetch("SELECT id, queued FROM lanes WHERE id > $1 ORDER BY id LIMIT $2", after, LANES)
    if not found:
        return 0, -1
    sums = accumulate(row[1] for row in found)
    ids = [row[0] for n, (row, total) in enumerate(zip(found, sums, strict=True)) if not n or total <= TASKS]
    lanes = await lock_lanes(conn, ids)
    corrected = await _audit_lanes(conn, lanes)
    await write_lanes(conn, lanes.values())
    return corrected, ids[-1]


async def _audit_lanes(conn: Conn, lanes: dict[int, Lane]) -> int:
    ids, now = sorted(lanes), await conn.now()
    ready = await conn.fetch(
        "SELECT lane, job, count(*) FROM tasks WHERE lane IN $1 AND state = 0 GROUP BY lane, job", ids
    )
    leased = await conn.fetch(
        "SELECT lane, count(*) FROM tasks WHERE lease IS NOT NULL AND lane IN $1 GROUP BY lane", ids
    )
    flying: dict[int, int] = {row[0]: row[1] for row in leased}
    counts = {(row[0], row[1]): row[2] for row in ready}
    queues = [*await conn.fetch("SELECT lane, job, queued, active FROM queues WHERE lane IN $1", ids)]
    # Tasks that stand in no queue get one; that of a job rests until upkeep wakes it.
    missing = sorted(counts.keys() - {(row[0], row[1]) for row in queues})
    made = [(lane, job, counts[lane, job], RESTING if job else ACTIVE) for lane, job in missing]
    await conn.insert(
        "queues",
        ("lane", "job", "queued", "active", "low", "turn"),
        [(*queue, LOWEST, now) for queue in made],
    )
    queues += made
    wrong = [(r[0], r[1], counts.get((r[0], r[1]), 0)) for r in queues if r[2] != counts.get((r[0], r[1]), 0)]
    await conn.update("queues", ("lane", "job"), ("queued", "low"), [(*w, LOWEST) for w in wrong])
    corrected = len(wrong) + len(made)
    waiting: dict[int, int] = {}
    for lane_id, job, _, active in queues:
        if active == ACTIVE:
            waiting[lane_id] = waiting.get(lane_id, 0) + counts.get((lane_id, job), 0)
    for lane in lanes.values():
        right = (waiting.get(lane.id, 0), flying.get(lane.id, 0))
        corrected += (lane.queued, lane.in_flight) != right
        lane.queued, lane.in_flight = right
        lane.refresh(now)
    return corrected


async def audit_jobs(conn: Conn, after: int = -1) -> tuple[int, int]:
    """Set right what is open and what runs of jobs that crawl, beyond id `after`: as above. Whatever
    changes that holds the job's lock when it commits, so under it the rows are what they should be."""
    rows = await conn.fetch(
        "SELECT id, open, in_flight FROM jobs WHERE phase = 'crawl' AND id > $1 ORDER BY id LIMIT $2{lock}",
        after,
        JOBS,
    )
    wrong: list[tuple[int, int, int]] = []
    for job, is_open, in_flight in rows:
        right = tuple(int(value) for value in (await conn.fetch(OPEN, job))[0])
        if right != (is_open, in_flight):
            wrong.append((job, *right))
    await conn.update("jobs", ("id",), ("open", "in_flight"), wrong)
    return len(wrong), rows[-1][0] if len(rows) == JOBS else -1
