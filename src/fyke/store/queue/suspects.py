"""Tasks whose worker died: they run alone, so that if it happens again the guilty one is known."""

import msgspec

from fyke.core.queue import Share
from fyke.core.task import Batch, JobInfo
from fyke.store.conn import Conn
from fyke.store.queue.claim import JOBS, _open, _task, check_lease
from fyke.store.queue.lanes import slots
from fyke.store.queue.sql import TASK_COLUMNS, lock_lanes, runnable_suspects, write_lanes

__all__ = ["claim_suspect"]

LOOKED_AT = 20


async def claim_suspect(conn: Conn, lease: int, share: Share = Share.ALL) -> Batch:
    """One suspect of that share whose lane and job allow it to start now."""
    now = await check_lease(conn, lease)
    rows = await runnable_suspects(conn, now, LOOKED_AT, share)
    for lane_id, job_id, identity in sorted(tuple(row) for row in rows):  # lanes are locked in their order
        lane = (await lock_lanes(conn, [lane_id]))[lane_id]
        jobs = await conn.fetch(JOBS.replace("{skip}", "{lock}"), [job_id])
        if job_id and not (jobs and _open(jobs[0]) and (not jobs[0][5] or jobs[0][6] < jobs[0][5])):
            continue
        starts = slots(lane, 1, now)
        if not starts:
            continue
        taken = await conn.execute(
            "UPDATE tasks SET state = 2, lease = $1, claims = claims + 1 WHERE id = $2 AND state = 3",
            lease,
            identity,
        )
        if not taken:
            continue
        await conn.execute("DELETE FROM suspects WHERE task = $1", identity)
        await conn.insert("alone", ("task", "lease"), [(identity, lease)], on="update", key="task")
        lane.in_flight += 1
        lane.refresh(now)
        await write_lanes(conn, [lane])
        if job_id:
            await conn.execute("UPDATE jobs SET in_flight = in_flight + 1 WHERE id = $1", job_id)
        row = (await conn.fetch(f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = $1", identity))[0]
        claimed = msgspec.structs.replace(
            _task(row, max(0, starts[0] - now), lane.spacing, alone=True), claims=row[6]
        )
        info = JobInfo(jobs[0][0], jobs[0][7].encode(), bytes(jobs[0][8])) if jobs else JobInfo(0, b"{}")
        return Batch([claimed], {job_id: info}, 0, True)
    return Batch([], {}, 100_000, bool(rows))
