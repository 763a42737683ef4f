"""Deleting: a job is hidden at once, and what it left is removed afterwards, a few rows at a time.

`purge` is a step that upkeep runs again and again. Of a hidden job that nothing runs of any more it first
names the objects, then removes the rows, and names the objects once more with the last of them: if the
process dies between a commit and the deletion of the objects, the next one deletes them. What a job has
listed may be needed for longer: see `listings`.
"""

from collections.abc import Sequence

from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.ids import public
from fyke.store.conn import Conn
from fyke.store.hidden import HIDDEN, NAMED
from fyke.store.idempotency import forget_old
from fyke.store.listings import LISTED, keep_listed, still_needed
from fyke.store.queue.activity import ACTIVE
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["CHUNK", "Purged", "expire", "forget_finished", "purge"]

CHUNK = 500
LANES = 50
DAY = 86_400 * SECOND

# What a job has, but for its tasks; each with the column that its rows are walked by.
TABLES = (
    ("pages", "seq"),
    ("changes", "seq"),
    ("seen", "url_key"),
    ("links_left", "seq"),
    ("metrics", "at"),
    ("events", "number"),
    ("exports", "id"),
    ("sources", "number"),
)
OF_LISTING = ("pages", "sources")
GOOD_ENDS = ("succeeded", "partial", "stopped", "cancelled")
BAD_ENDS = ("failed",)


class Purged(Struct, frozen=True):
    """What a step did. `objects` are beginnings of keys, each closed by a slash: all objects under them
    are to be deleted. `more` says that there is more to do."""

    more: bool = False
    objects: list[str] = []


async def expire(conn: Conn, keep: int, keep_failures: int) -> int:
    """Hide jobs that ended more than `keep` µs ago, failed ones `keep_failures`; how many."""
    now = await conn.now()
    hidden = 0
    for states, age in ((GOOD_ENDS, keep), (BAD_ENDS, keep_failures)):
        for state in states:
            rows = await conn.fetch(
                "SELECT id FROM jobs{by jobs_state} WHERE state = $1 AND created_at < $2 AND finished_at < $2"
                " AND phase = 'done' AND hidden = 0 ORDER BY id LIMIT $3",
                state,
                now - age,
                CHUNK,
            )
            if rows:
                ids = sorted(row[0] for row in rows)
                hidden += await conn.execute(
                    "UPDATE jobs SET hidden = $2 WHERE id IN $1 AND phase = 'done'", ids, HIDDEN
                )
    return hidden


async def purge(conn: Conn) -> Purged:
    """One step: something of a hidden job, or of what is only kept for a day."""
    rows = await conn.fetch(
        "SELECT id, hidden FROM jobs WHERE hidden IN $1 AND phase = 'done' ORDER BY id LIMIT 1",
        [HIDDEN, NAMED],
    )
    if not rows:
        return Purged(await _forget_old(conn))
    job, stage = rows[0]
    if stage == HIDDEN:
        await conn.execute("UPDATE jobs SET hidden = $2 WHERE id = $1", job, NAMED)
        return Purged(True, await _objects(conn, job))
    for remove in (_remove_resting, _remove_ready):
        if await remove(conn, job):
            return Purged(True)
    objects = await _objects(conn, job)
    needed = await still_needed(conn, job)
    if needed and await keep_listed(conn, job, CHUNK):
        return Purged(True)
    needed = needed and bool(await conn.fetch("SELECT 1 FROM pages WHERE job = $1 LIMIT 1", job))
    for table, column in TABLES:
        if needed and table in OF_LISTING:
            continue
        deleted = await _remove_rows(conn, table, column, job)
        if deleted:
            return Purged(True, objects if table in ("exports", "sources") else [])
    if needed:
        await _keep_listing(conn, job)
    else:
        await conn.execute("DELETE FROM jobs WHERE id = $1 AND phase = 'done'", job)
    return Purged(True, objects)


async def _keep_listing(conn: Conn, job: int) -> None:
    """Of the job there is nothing left but what it had listed: nothing of it waits, or counts."""
    await conn.execute("UPDATE sources SET state = 'cut' WHERE job = $1 AND state <> 'read'", job)
    await conn.execute(
        "UPDATE jobs SET hidden = $2, open = 0, succeeded = 0, failed = 0, skipped = 0, bytes = 0"
        " WHERE id = $1",
        job,
        LISTED,
    )


async def _objects(conn: Conn, job: int) -> list[str]:
    """Beginnings of the keys of all objects that are the job's alone."""
    name = public(job)
    lists = await conn.fetch("SELECT location FROM sources WHERE job = $1 AND kind = 'list'", job)
    return [f"exports/{name}/", f"plans/{name}/", *(f"{row[0].rpartition('/')[0]}/" for row in lists)]


async def _remove_resting(conn: Conn, job: int) -> int:
    """Remove tasks that are delayed, or wait to run alone."""
    for table in ("delays", "suspects"):
        rows = await conn.fetch(f"SELECT task FROM {table} WHERE job = $1 LIMIT $2", job, CHUNK)
        if rows:
            ids = sorted(row[0] for row in rows)
            await _drop_tasks(conn, ids, "state IN (1, 3)")
            await conn.execute(f"DELETE FROM {table} WHERE task IN $1", ids)
            return len(ids)
    return 0


async def _remove_ready(conn: Conn, job: int) -> int:
    """Remove tasks that wait in lanes, and the queues that they have left."""
    rows = await conn.fetch("SELECT lane FROM queues WHERE job = $1 ORDER BY lane LIMIT $2", job, LANES)
    if not rows:
        return 0
    lanes = await lock_lanes(conn, [row[0] for row in rows])
    queues = await conn.fetch(
        "SELECT lane, queued, active FROM queues WHERE job = $1 AND lane IN $2", job, sorted(lanes)
    )
    now, handled = await conn.now(), 0
    for lane, queued, active in queues:
        found = await conn.fetch(
            "SELECT id FROM tasks WHERE lane = $1 AND job = $2 AND state = 0 ORDER BY place LIMIT $3",
            lane,
            job,
            CHUNK - handled,
        )
        await _drop_tasks(conn, sorted(row[0] for row in found), "state < 1")  # as in claim.TAKE
        handled += len(found)
        empty = handled < CHUNK
        gone = queued if empty else min(queued, len(found))
        if empty:
            await conn.execute("DELETE FROM queues WHERE lane = $1 AND job = $2", lane, job)
            handled += 1
        else:
            await conn.execute(
                "UPDATE queues SET queued = queued - $3 WHERE lane = $1 AND job = $2", lane, job, gone
            )
        if active == ACTIVE:
            lanes[lane].queued = max(0, lanes[lane].queued - gone)
            lanes[lane].refresh(now)
        if handled >= CHUNK:
            break
    await write_lanes(conn, lanes.values())
    return handled


async def _drop_tasks(conn: Conn, ids: Sequence[int], condition: str) -> None:
    if not ids:
        return
    rows = await conn.fetch(
        f"SELECT dedupe FROM tasks WHERE id IN $1 AND {condition} AND dedupe IS NOT NULL", ids
    )
    if rows:
        await conn.execute("DELETE FROM dedupe_keys WHERE dedupe IN $1", [bytes(row[0]) for row in rows])
    await conn.execute(f"DELETE FROM tasks WHERE id IN $1 AND {condition}", ids)


async def _remove_rows(conn: Conn, table: str, column: str, job: int) -> int:
    rows = await conn.fetch(
        f"SELECT {column} FROM {table} WHERE job = $1 ORDER BY {column} LIMIT $2", job, CHUNK
    )
    if rows:
        last = rows[-1][0]
        await conn.execute(
            f"DELETE FROM {table} WHERE job = $1 AND {column} <= $2",
            job,
            bytes(last) if column == "url_key" else last,
        )
    return len(rows)


async def _forget_old(conn: Conn) -> bool:
    """Drop what is kept for a day: answers to idempotent requests, events of jobs that have ended.
    Whether there is more."""
    forgotten = await forget_old(conn)
    if forgotten:
        return forgotten == CHUNK
    before = await conn.now() - DAY
    jobs = await conn.fetch(
        "SELECT id FROM jobs WHERE phase = 'done' AND finished_at < $1"
        " AND EXISTS (SELECT 1 FROM events WHERE events.job = jobs.id) ORDER BY id LIMIT 1",
        before,
    )
    return bool(jobs and await _remove_rows(conn, "events", "number", jobs[0][0]))


async def forget_finished(conn: Conn, after: int = -1) -> tuple[int, int]:
    """Drop done tasks whose outcome nobody will send again: finished a day ago, of jobs that have ended a
    day ago. Looks at the next rows beyond the id `after`: (dropped, last id, or -1 at the end)."""
    before = await conn.now() - DAY
    rows = await conn.fetch(
        "SELECT f.task, f.at, coalesce(j.phase, 'done'), coalesce(j.finished_at, 0) FROM finished f"
        " LEFT JOIN jobs j ON j.id = f.job WHERE f.task > $1 ORDER BY f.task LIMIT $2",
        after,
        CHUNK,
    )
    old = [task for task, at, phase, ended in rows if at < before and phase == "done" and ended < before]
    if old:
        await conn.execute("DELETE FROM finished WHERE task IN $1", old)
    return len(old), rows[-1][0] if len(rows) == CHUNK else -1
