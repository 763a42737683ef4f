"""Lanes take over what the policies say now: they were made with what these said then."""

from collections.abc import Callable

from fyke.core.task import LaneSpec
from fyke.store.conn import Conn
from fyke.store.queue.lanes import Lane
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["adopt_policies"]

CHUNK = 500

LANES = """
    SELECT id, name, base_spacing, burst, cap FROM lanes WHERE id > $1 ORDER BY id LIMIT $2"""


async def adopt_policies(
    conn: Conn, after: int, spec_of: Callable[[str], LaneSpec | None]
) -> tuple[int, int]:
    """Give the next lanes beyond the id `after` the limits that `spec_of` has for their names, if it has
    any: (changed, last id, or -1 at the end)."""
    rows = await conn.fetch(LANES, after, CHUNK)
    wrong: dict[int, LaneSpec] = {}
    for identity, name, interval, burst, cap in rows:
        spec = spec_of(name)
        if spec is not None and (spec.interval, spec.burst, spec.cap) != (interval, burst, cap):
            wrong[identity] = spec
    if wrong:
        now = await conn.now()
        lanes = await lock_lanes(conn, wrong)
        for lane in lanes.values():
            _adopt(lane, wrong[lane.id], now)
        await write_lanes(conn, lanes.values())
        await conn.update(
            "lanes", ("id",), ("burst", "cap"), [(lane.id, lane.burst, lane.cap) for lane in lanes.values()]
        )
    return len(wrong), rows[-1][0] if len(rows) == CHUNK else -1


def _adopt(lane: Lane, spec: LaneSpec, now: int) -> None:
    slowed = lane.slow_until > now  # a rate that was halved stays so for its time, unless this is slower
    lane.spacing = max(lane.spacing, spec.interval) if slowed else spec.interval
    lane.base_spacing, lane.burst, lane.cap = spec.interval, spec.burst, spec.cap
    lane.refresh(now)
