"""Statements that several parts of the queue share."""

from collections.abc import Iterable, Sequence

from fyke.store.conn import Conn
from fyke.store.queue.lanes import LANE_COLUMNS, Lane

__all__ = ["TASK_COLUMNS", "lock_lanes", "write_lanes"]

TASK_COLUMNS = "id, job, lane, kind, place, seq, claims, attempt, url, payload"

LOCK_LANES = f"SELECT {LANE_COLUMNS} FROM lanes WHERE id IN $1 ORDER BY id {{lock}}"


async def lock_lanes(conn: Conn, ids: Iterable[int]) -> dict[int, Lane]:
    """Lock lanes in the order of their ids, waiting for whoever holds them."""
    rows = await conn.fetch(LOCK_LANES, sorted(set(ids)))
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
