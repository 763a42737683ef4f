"""Upkeep of the queue: small steps that any process may run at any time, each one transaction.

Every step handles at most CHUNK rows and says how many it handled; whoever gets CHUNK runs it again.
"""

from collections.abc import Sequence

from msgspec import Struct, json

from fyke.core.clock import SECOND
from fyke.core.outcome import PageRow, Verdict
from fyke.core.page import ErrorClass
from fyke.core.task import Kind
from fyke.store.conn import Conn
from fyke.store.effects import save_pages
from fyke.store.queue.lanes import Lane
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.settle import back_to_queue
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["CHUNK", "STRIKES", "end_stopped", "free_lease", "promote", "sweep"]

CHUNK = 500
STRIKES = 3
STRIKE_DELAY = 2 * SECOND  # a suspect rests between its runs, longer each time

HELD = """
    SELECT id, job, lane, place, kind, seq, url, strikes, claims, lease, dedupe, payload FROM tasks
    WHERE lease IN $1{only} ORDER BY id LIMIT $2"""

HELD_STILL = """
    SELECT id, job, lane, place, kind, seq, url, strikes, claims, lease, dedupe, payload FROM tasks
    WHERE id IN $1 AND lease IN $2 ORDER BY id {lock}"""


class Held(Struct):
    """A task as it is taken from a lease."""

    id: int
    job: int
    lane: int
    place: int
    kind: str
    seq: int
    url: str
    strikes: int
    claims: int
    lease: int
    dedupe: bytes | None
    payload: str


async def sweep(conn: Conn) -> int:
    """Take back the tasks of leases that have run out. A worker may have died of one of them."""
    now = await conn.now()
    # A lease under which somebody claims just now is left to the next sweep: its tasks are not seen yet.
    rows = await conn.fetch(
        "SELECT id FROM leases WHERE until <= $1 ORDER BY until LIMIT $2 {skip}", now, CHUNK
    )
    return await take_back(conn, [row[0] for row in rows], now, suspect=True) if rows else 0


async def free_lease(conn: Conn, lease: int, tasks: list[int] | None = None) -> int:
    """Hand back tasks of a lease, or all of them and the lease with them, as if never claimed."""
    now = await conn.now()
    return await take_back(conn, [lease], now, suspect=False, only=tasks)


async def take_back(
    conn: Conn, leases: list[int], now: int, *, suspect: bool, only: list[int] | None = None
) -> int:
    if only is None:
        rows = await conn.fetch(HELD.replace("{only}", ""), leases, CHUNK)
    else:
        rows = await conn.fetch(HELD.replace("{only}", " AND id IN $3"), leases, CHUNK, only)
    lanes = await lock_lanes(conn, [row[2] for row in rows])
    # Under the lanes' locks the rows stand still: read them again.
    found = await conn.fetch(HELD_STILL, [row[0] for row in rows], leases)
    tasks = [Held(*row) for row in found]
    for task in tasks:
        lanes[task.lane].in_flight = max(0, lanes[task.lane].in_flight - 1)
    alone = {row[0] for row in await conn.fetch("SELECT task FROM alone WHERE lease IN $1", leases)}
    alone &= {task.id for task in tasks}
    await conn.execute("DELETE FROM alone WHERE task IN $1", sorted(alone))
    if suspect:
        await _suspect(conn, tasks, alone, now)
    else:
        await _return(conn, tasks, alone, lanes, now)
    for lane in lanes.values():
        lane.refresh(now)
    await write_lanes(conn, lanes.values())
    await move_jobs(conn, now, _deltas(tasks))
    if only is None and len(rows) < CHUNK:
        await conn.execute("DELETE FROM leases WHERE id IN $1", leases)
    return len(tasks)


def _deltas(tasks: Sequence[Held]) -> dict[int, JobDelta]:
    deltas: dict[int, JobDelta] = {}
    for task in tasks:
        deltas.setdefault(task.job, JobDelta()).in_flight -= 1
    return deltas


async def _return(
    conn: Conn, tasks: Sequence[Held], alone: set[int], lanes: dict[int, Lane], now: int
) -> None:
    """Put tasks back as they were: what was to run alone is still to."""
    ready = [task for task in tasks if task.id not in alone]
    await conn.execute("UPDATE tasks SET state = 0, lease = NULL WHERE id IN $1", [t.id for t in ready])
    await back_to_queue(conn, [(t.lane, t.job, t.place) for t in ready], lanes)
    await conn.execute("UPDATE tasks SET state = 3, lease = NULL WHERE id IN $1", sorted(alone))
    rest = [(task.id, task.job, now) for task in tasks if task.id in alone]
    await conn.insert("suspects", ("task", "job", "due"), rest)


async def _suspect(conn: Conn, tasks: Sequence[Held], alone: set[int], now: int) -> None:
    """Tasks whose worker is gone run alone from now on; the one that already did gets a strike."""
    out = [t for t in tasks if t.id in alone and t.strikes + 1 >= STRIKES]
    back = [t for t in tasks if t not in out]
    await conn.update(
        "tasks",
        ("id",),
        ("state", "lease", "strikes"),
        [(t.id, 3, None, t.strikes + (t.id in alone)) for t in back],
    )
    await conn.insert(
        "suspects",
        ("task", "job", "due"),
        [(t.id, t.job, now + STRIKE_DELAY * (t.strikes + 1) if t.id in alone else now) for t in back],
    )
    if out:
        await _quarantine(conn, out, now)


async def _quarantine(conn: Conn, tasks: Sequence[Held], now: int) -> None:
    """Set tasks aside that have killed their workers: done, as failures, for a person to look at."""
    await conn.execute("DELETE FROM tasks WHERE id IN $1", [t.id for t in tasks])
    keys = [t.dedupe for t in tasks if t.dedupe is not None]
    if keys:
        await conn.execute("DELETE FROM dedupe_keys WHERE dedupe IN $1", keys)
    await conn.insert(
        "finished",
        ("task", "job", "lease", "claims", "kind", "seq", "verdict", "at"),
        [(t.id, t.job, t.lease, t.claims, t.kind, t.seq, Verdict.QUARANTINED, now) for t in tasks],
    )
    message = f"its worker died {STRIKES} times while it ran alone"
    await save_pages(conn, [(t, _row(t, now, message)) for t in tasks if t.kind == Kind.PAGE])
    deltas: dict[int, JobDelta] = {}
    for task in tasks:
        if task.kind == Kind.FINISH:  # the job ends without its exports, rather than never
            deltas[json.decode(task.payload)["job"]] = JobDelta(ended=True, error_message=message)
            continue
        delta = deltas.setdefault(task.job, JobDelta())
        delta.open -= 1
        if task.kind == Kind.PAGE:
            delta.failed += 1
            delta.pages.append(task.seq)
        else:
            delta.error_message = message
    await move_jobs(conn, now, deltas)


def _row(task: Held, now: int, message: str) -> PageRow:
    return PageRow(
        task.seq,
        task.url,
        Verdict.QUARANTINED,
        now,
        error_class=ErrorClass.WORKER_KILLED,
        error_message=message,
        payload=task.payload.encode() or None,
    )


async def promote(conn: Conn) -> int:
    """Make ready what was delayed and is due."""
    now = await conn.now()
    due = await conn.fetch("SELECT task FROM delays WHERE due <= $1 ORDER BY due LIMIT $2", now, CHUNK)
    if not due:
        return 0
    ids = [row[0] for row in due]
    lane_rows = await conn.fetch("SELECT DISTINCT lane FROM tasks WHERE id IN $1", ids)
    lanes = await lock_lanes(conn, [row[0] for row in lane_rows])
    rows = await conn.fetch(
        "SELECT id, job, lane, place FROM tasks WHERE id IN $1 AND state = 1 ORDER BY id {lock}", ids
    )
    rows = [row for row in rows if row[2] in lanes]
    await conn.execute("UPDATE tasks SET state = 0 WHERE id IN $1", [row[0] for row in rows])
    await conn.execute("DELETE FROM delays WHERE task IN $1", ids)
    await back_to_queue(conn, [(r[2], r[1], r[3]) for r in rows], lanes)
    for lane in lanes.values():
        lane.refresh(now)
    await write_lanes(conn, lanes.values())
    return len(due)


async def end_stopped(conn: Conn) -> int:
    """Jobs whose end no settling will bring: stopped or out of time while nothing of them runs."""
    now = await conn.now()
    rows = await conn.fetch(
        "SELECT id FROM jobs WHERE phase = 'crawl' AND state IN $1 AND"
        " ((stop IS NOT NULL AND in_flight = 0) OR (stop IS NULL AND deadline_at > 0 AND deadline_at <= $2)"
        " OR (open = 0)) LIMIT $3",
        ["queued", "running", "cancelling"],
        now,
        CHUNK,
    )
    await move_jobs(conn, now, {row[0]: JobDelta() for row in rows})
    return len(rows)
