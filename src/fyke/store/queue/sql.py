"""Statements that several parts of the queue share."""

from collections.abc import Iterable, Sequence

from fyke.core.queue import Share
from fyke.store.conn import Conn, Row
from fyke.store.queue.lanes import LANE_COLUMNS, Lane

__all__ = ["TASK_COLUMNS", "lock_lanes", "runnable_suspects", "write_lanes"]

TASK_COLUMNS = "id, job, lane, kind, place, seq, claims, attempt, url, payload"

LOCK_LANES = f"SELECT {LANE_COLUMNS} FROM lanes WHERE id IN $1 ORDER BY id {{lock}}"
TAKE_LANES = f"SELECT {LANE_COLUMNS} FROM lanes WHERE id IN $1 ORDER BY id {{skip}}"

DUE_SUSPECTS = "SELECT task FROM suspects WHERE due <= $1 ORDER BY due LIMIT $2"
MOST_SUSPECTS = 2000

# Those that may run: a stopped job's would keep every worker looking for what it cannot have.
RUNNABLE = """
    SELECT t.lane, t.job, t.id FROM tasks t
    JOIN lanes l ON l.id = t.lane LEFT JOIN jobs j ON j.id = t.job
    WHERE t.id IN $1 AND t.state = 3 AND l.look_at <= $2 AND (l.cap = 0 OR l.in_flight < l.cap)
    AND (t.job = 0 OR (j.phase = 'crawl' AND j.stop IS NULL AND (j.cap = 0 OR j.in_flight < j.cap))){share}
    ORDER BY t.id LIMIT $3"""


OF_SHARE = {Share.ALL: "", Share.JOBS: " AND t.job <> 0", Share.OWN: " AND t.job = 0"}


async def runnable_suspects(conn: Conn, now: int, most: int, share: Share) -> Sequence[Row]:
    """Suspects (lane, job, task) of that share that could start now. Not one statement: a planner without
    figures of the small table, which is nearly always empty, reads the large one to its end."""
    due = await conn.fetch(DUE_SUSPECTS, now, MOST_SUSPECTS)
    runnable = RUNNABLE.replace("{share}", OF_SHARE[share])
    return await conn.fetch(runnable, [row[0] for row in due], now, most) if due else []


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
