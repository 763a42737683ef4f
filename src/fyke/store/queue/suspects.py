"""Tasks whose worker died: they run alone, so that if it happens again the guilty one is known."""

from fyke.core.queue import Share
from fyke.core.task import Batch
from fyke.store.conn import Conn
from fyke.store.queue.claim import as_task, check_lease, lock_jobs
from fyke.store.queue.lanes import slots
from fyke.store.queue.sql import TASK_COLUMNS, lock_lanes, runnable_suspects, write_lanes

__all__ = ["HELD", "claim_suspect"]

LOOKED_AT = 20
HELD = 2_000  # µs after which to ask again for what somebody else holds
NOTHING = 100_000

SUSPECT = f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = $1 AND state = 3 {{skip}}"


async def claim_suspect(conn: Conn, lease: int, share: Share = Share.ALL) -> Batch:
    """One suspect of that share whose lane and job allow it to start now, and are held by nobody."""
    now = await check_lease(conn, lease)
    rows = await runnable_suspects(conn, now, LOOKED_AT, share)
    held = False
    for lane_id, job_id, identity in rows:
        lane = (await lock_lanes(conn, [lane_id], skip=True)).get(lane_id)
        job = (await lock_jobs(conn, [job_id])).get(job_id) if lane is not None else None
        if lane is None or job is None:
            held = True
            continue
        starts = slots(lane, 1, now) if job.room(1) > 0 else []
        found = await conn.fetch(SUSPECT, identity) if starts else []
        if not found:
            continue
        await conn.execute(
            "UPDATE tasks SET state = 2, lease = $1, claims = claims + 1 WHERE id = $2", lease, identity
        )
        await conn.execute("DELETE FROM suspects WHERE task = $1", identity)
        await conn.insert("alone", ("task", "lease"), [(identity, lease)], on="update", key="task")
        lane.in_flight += 1
        lane.refresh(now)
        await write_lanes(conn, [lane])
        if job_id:
            await conn.execute("UPDATE jobs SET in_flight = in_flight + 1 WHERE id = $1", job_id)
        task = as_task(found[0], max(0, starts[0] - now), lane.spacing, alone=True)
        return Batch([task], {job_id: job.info()}, 0, True)
    return Batch([], {}, HELD if held else NOTHING, bool(rows))
