"""Statements that several parts of the queue share."""

from collections.abc import Iterable, Sequence

from fyke.core.queue import Share
from fyke.store.conn import Conn, Row
from fyke.store.queue.lanes import LANE_COLUMNS, Lane

__all__ = ["TASK_COLUMNS", "lock_lanes", "runnable_suspects", "write_lanes"]

TASK_COLUMNS = "id, job, lane, kind, place, seq, claims, attempt, url, payload"

LOCK_LANES = f"SELECT {LANE_COLUMNS} FROM lanes WHERE id IN $1 ORDER BY id {{lock}}"
TAKE_LANES = f"SELECT {LANE_COLUMNS} FROM lanes WHERE id IN $1 ORDER BY id {{skip}}"

# First which jobs may go on, then the oldest of each: a stopped job's would hide those of all others.
SUSPECTED = "SELECT DISTINCT job FROM suspects"
GOING_ON = """
    SELECT id FROM jobs WHERE id IN $1 AND phase = 'crawl' AND stop IS NULL
    AND (cap = 0 OR in_flight < cap)"""
DUE_SUSPECTS = "SELECT task FROM suspects WHERE job = $1 AND due > $2 AND due <= $3 ORDER BY due"
MOST_SUSPECTS = 2000
RUNNABLE = """
    SELECT t.lane, t.job, t.id FROM tasks t JOIN lanes l ON l.id = t.lane
    WHERE t.id IN $1 AND t.state = 3 AND l.look_at <= $2 AND (l.cap = 0 OR l.in_flight < l.cap)
    ORDER BY t.id LIMIT $3"""


async def runnable_suspects(conn: Conn, now: int, most: int, share: Share) -> Sequence[Row]:
    """Suspects (lane, job, task) of that share that could start now. Not one statement: a planner without
    figures of the small table, which is nearly always empty, reads the large one to its end."""
    jobs = {row[0] for row in await conn.fetch(SUSPECTED)}
    going = [0] if 0 in jobs and share is not Share.JOBS else []
    if share is not Share.OWN and (others := sorted(jobs - {0})):
        going += [row[0] for row in await conn.fetch(GOING_ON, others)]
    each = max(1, MOST_SUSPECTS // len(going)) if going else 0
    due = await conn.select_first(DUE_SUSPECTS, [(job, -1, now, each) for job in going])
    return await conn.fetch(RUNNABLE, [row[0] for row in due], now, most) if due else []


async def lock_lanes(conn: Conn, ids: Iterable[int], *, skip: bool = False) -> dict[int, Lane]:
    """Lock lanes in the order of their ids, waiting for whoever holds them, or leaving those out."""
    wanted = sorted(set(ids))
    if not wanted:
        return {}
    rows = await conn.fetch(TAKE_LANES if skip else LOCK_LANES, wanted)
    return {row[0]: Lane(*row) for row in rows}


async def write_lanes(conn: Conn, lanes: Iterable[Lane]) -> None:
    rows: Sequence[tuple[int, ...]] = [
        (
            lane.id,
            lane.waiting,
            lane.band,
            lane.look_at,
            lane.next_slot,
            lane.spacing,
            lane.base_spacing,
            lane.queued,
            lane.in_flight,
            lane.slow_until,
        )
        for lane in lanes
    ]
    await conn.update(
        "lanes",
        ("id",),
        (
            "waiting",
            "band",
            "look_at",
            "next_slot",
            "spacing",
            "base_spacing",
            "queued",
            "in_flight",
            "slow_until",
        ),
        rows,
    )
