"""Sources of a job's plan: lists, sitemaps, sites; read one after another, in order.

One at a time keeps the order of a job's URLs the same however often its reading is interrupted: each
source counts on from where the one before it ended, and what was added before a crash is seen again
and ignored.
"""

from typing import Any

import msgspec

from fyke.core.ids import key16
from fyke.core.outcome import AddSources, Source, SourceRead
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.store.conn import Conn
from fyke.store.queue.add import Plan, lane_of, write_tasks
from fyke.store.queue.lanes import Lane
from fyke.store.queue.sql import lock_lanes

__all__ = [
    "UNREAD",
    "add_sources",
    "begin_next",
    "count_failed",
    "end_source",
    "lane_after",
    "lanes_to_begin",
    "plan_waits",
    "read_again",
]

# `failed` ones could not be had, and are read again by a retry; of `cut` ones something could not be read.
UNREAD = ["waiting", "reading"]
FAILED = ["failed"]

NEXT = """
    SELECT number, kind, location, lane, depth, (SELECT band FROM jobs WHERE id = $1) FROM sources
    WHERE job = $1 AND state IN $2 ORDER BY number LIMIT 1"""

AFTER = """
    SELECT s.lane FROM tasks t JOIN sources s ON s.job = t.job AND s.number = $2 WHERE t.id = $1"""

READY_PLAN = """
    SELECT t.id FROM queues q JOIN tasks t ON t.lane = q.lane AND t.job = q.job
    WHERE q.job = $1 AND q.low < 0 AND t.state = 0 AND t.place < 0 LIMIT 1"""

_lane = msgspec.json.Decoder(LaneSpec)


async def add_sources(conn: Conn, job: int, effect: AddSources) -> int:
    """Append sources that the job does not have yet; how many."""
    keyed = {key16(f"source {source.location}"): source for source in effect.sources}
    known = await conn.fetch("SELECT url_key FROM seen WHERE job = $1 AND url_key IN $2", job, list(keyed))
    for (key,) in known:
        del keyed[bytes(key)]
    if not keyed:
        return 0
    last = (await conn.fetch("SELECT coalesce(max(number), -1) FROM sources WHERE job = $1", job))[0][0]
    await conn.insert("seen", ("job", "url_key"), [(job, key) for key in keyed])
    await conn.insert(
        "sources",
        ("job", "number", "kind", "location", "lane", "depth", "state"),
        [_row(job, last + 1 + i, source) for i, source in enumerate(keyed.values())],
    )
    return len(keyed)


def _row(job: int, number: int, source: Source) -> tuple[Any, ...]:
    lane = msgspec.json.encode(source.lane).decode()
    return (job, number, source.kind, source.location, lane, source.depth, "waiting")


async def end_source(conn: Conn, job: int, read: SourceRead) -> None:
    await conn.execute(
        "UPDATE sources SET state = $3, entries = $4, warnings = $5, message = $6"
        " WHERE job = $1 AND number = $2",
        job,
        read.number,
        "failed" if read.failed else "read" if read.complete else "cut",
        read.entries,
        read.warnings,
        read.message,
    )


async def plan_waits(conn: Conn, job: int) -> bool:
    """Whether the plan of a job of which nothing runs has a task already. Redirects may have led it to
    another lane than its source's."""
    if await conn.fetch(READY_PLAN, job):
        return True
    for table in ("delays", "suspects"):
        resting = f"SELECT r.task FROM {table} r JOIN tasks t ON t.id = r.task"
        if await conn.fetch(f"{resting} WHERE r.job = $1 AND t.kind = 'plan' LIMIT 1", job):
            return True
    return False


async def lane_after(conn: Conn, task: int, number: int) -> list[int]:
    """The lane of the source that comes after the one that a plan's task reads: whoever settles that locks
    it with the others, before the job."""
    rows = await conn.fetch(AFTER, task, number + 1)
    return [lane_of(_lane.decode(row[0])) for row in rows]


async def lanes_to_begin(conn: Conn, job: int) -> list[int]:
    """The lanes of the source that a job goes on with when it is resumed, or when what failed is retried."""
    rows = [*await conn.fetch(NEXT, job, UNREAD), *await conn.fetch(NEXT, job, FAILED)]
    return [lane_of(_lane.decode(row[3])) for row in rows]


async def count_failed(conn: Conn, job: int) -> int:
    """How many sources of a job could not be had."""
    rows = await conn.fetch("SELECT count(*) FROM sources WHERE job = $1 AND state IN $2", job, FAILED)
    return int(rows[0][0])


async def read_again(conn: Conn, job: int) -> tuple[int, int]:
    """Sources that failed are to be read once more: how many, and from where on they count, which is behind
    all others. To be called when nothing else of the plan is left."""
    count = await conn.execute(
        "UPDATE sources SET state = 'waiting' WHERE job = $1 AND state IN $2", job, FAILED
    )
    ends = await conn.fetch("SELECT coalesce(max(first_seq + entries), 0) FROM sources WHERE job = $1", job)
    return count, int(ends[0][0])


async def begin_next(conn: Conn, job: int, first_seq: int, lanes: dict[int, Lane], now: int) -> bool:
    """Make a task of the next source, in the job's band; False when there is none and the plan is done."""
    rows = await conn.fetch(NEXT, job, UNREAD)
    if not rows:
        return False
    number, kind, location, lane_json, depth, band = rows[0]
    lane = _lane.decode(lane_json)
    await conn.execute(
        "UPDATE sources SET state = 'reading', first_seq = $3 WHERE job = $1 AND number = $2",
        job,
        number,
        first_seq,
    )
    payload = msgspec.json.encode(
        {"number": number, "kind": kind, "location": location, "first_seq": first_seq, "depth": depth}
    )
    if lane_of(lane) not in lanes:
        lanes.update(await lock_lanes(conn, [lane_of(lane)]))
    task = NewTask(Kind.PLAN, number, lane, url=location, payload=payload)
    await write_tasks(conn, job, Plan([task], band), lanes, now)
    return True
