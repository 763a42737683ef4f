"""Adding tasks: lanes and queues come into being with the first task that needs them.

The ids of lanes are made from their keys, so adding needs no look-up. Callers hold the locks of the
lanes that exist already; those that do not are made here, under the protection of their own insert.
"""

from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from fyke.core.ids import key16, key63, new_id
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.store.conn import Conn
from fyke.store.queue.activity import ACTIVE, room_for_active, with_more
from fyke.store.queue.lanes import BANDS, Lane, turn_at
from fyke.store.queue.sql import lock_lanes

__all__ = ["Plan", "into_queues", "keep_left", "lane_of", "make_lanes", "plan_tasks", "write_tasks"]

URGENT = -(1 << 40)  # the place of what comes before all pages of a job
MOST_LEFT = 100_000  # links of a job that are kept: a site may have no end of them


class Plan(Struct):
    """What of the tasks asked for is really to be added. `left` are those that the job's budget of URLs
    leaves out; `kept` is how many such links the job has already."""

    tasks: list[NewTask]
    band: int
    pages: int = 0
    left: list[NewTask] = []
    kept: int = 0


@lru_cache(maxsize=65536)
def _lane_id(key: str) -> int:
    return key63(key)


def lane_of(spec: LaneSpec) -> int:
    return _lane_id(spec.key)


async def plan_tasks(conn: Conn, job: int, tasks: Sequence[NewTask], added: int = 0) -> Plan:
    """Leave out URLs the job has seen, and what its budget of URLs does not allow; `added` is what it
    has been given and its row does not count yet. Locks the job."""
    row = (await conn.fetch("SELECT total, max_urls, band, links_left FROM jobs WHERE id = $1{lock}", job))[0]
    total, most, band, kept = row
    keyed: dict[bytes, NewTask] = {}
    plan = Plan([], band, kept=kept)
    for task in await _without_pending(conn, tasks):
        if task.kind == Kind.PAGE:
            keyed.setdefault(key16(task.url), task)
        else:
            plan.tasks.append(task)
    if keyed:
        known = await conn.fetch(
            "SELECT url_key FROM seen WHERE job = $1 AND url_key IN $2", job, list(keyed)
        )
        for (key,) in known:
            del keyed[bytes(key)]
        room = max(0, most - total - added) if most else len(keyed)
        fresh = list(keyed.items())[:room]
        plan.left = list(keyed.values())[room:]
        plan.pages = len(fresh)
        plan.tasks += [task for _, task in fresh]
        await conn.insert("seen", ("job", "url_key"), [(job, key) for key, _ in fresh])
    return plan


async def keep_left(conn: Conn, job: int, plan: Plan, added: int) -> int:
    """Keep the links that were left out: no list has them, and the pages that they stood on are done. How
    many there were, also those that are too many to keep; `added` is what the job's row does not count yet.
    """
    kept = plan.left[: max(0, MOST_LEFT - plan.kept - added)]
    await conn.insert("seen", ("job", "url_key"), [(job, key16(task.url)) for task in kept])
    await conn.insert(
        "links_left",
        ("job", "seq", "url", "payload"),
        [(job, task.seq, task.url, task.payload.decode()) for task in kept],
        on="ignore",
    )
    return len(plan.left)


async def write_tasks(conn: Conn, job: int, plan: Plan, lanes: dict[int, Lane], now: int) -> int:
    """Insert the planned tasks, and count them in their queues and in `lanes` (locked rows, which the
    caller writes back); how many there were."""
    tasks = [(new_id(), task) for task in await _without_pending(conn, plan.tasks)]
    if not tasks:
        return 0
    await make_lanes(conn, [task.lane for _, task in tasks], lanes)
    await conn.insert(
        "tasks",
        ("id", "job", "lane", "kind", "state", "place", "seq", "attempt", "dedupe", "url", "payload"),
        [
            (
                identity,
                job,
                lane_of(task.lane),
                task.kind,
                int(task.delay > 0),
                _place(task),
                task.seq,
                1,
                task.dedupe,
                task.url,
                task.payload.decode(),
            )
            for identity, task in tasks
        ],
    )
    delays = [(i, job, now + t.delay) for i, t in tasks if t.delay > 0]
    await conn.insert("delays", ("task", "job", "due"), delays)
    await conn.insert("dedupe_keys", ("dedupe", "task"), [(t.dedupe, i) for i, t in tasks if t.dedupe])
    ready = [(lane_of(t.lane), _place(t) if t.delay <= 0 else None) for _, t in tasks]
    await into_queues(conn, job, plan.band, ready, lanes, now)
    return len(tasks)


async def _without_pending(conn: Conn, tasks: Sequence[NewTask]) -> Sequence[NewTask]:
    """Leave out tasks whose dedupe key a pending task has."""
    keys = [task.dedupe for task in tasks if task.dedupe]
    if not keys:
        return tasks
    rows = await conn.fetch("SELECT dedupe FROM dedupe_keys WHERE dedupe IN $1", keys)
    pending = {bytes(row[0]) for row in rows}
    chosen: list[NewTask] = []
    for task in tasks:
        if task.dedupe:
            if task.dedupe in pending:
                continue
            pending.add(task.dedupe)
        chosen.append(task)
    return chosen


async def make_lanes(conn: Conn, specs: Sequence[LaneSpec], lanes: dict[int, Lane]) -> None:
    """Make the lanes that are not there yet, and lock them."""
    fresh = {lane_of(spec): spec for spec in specs if lane_of(spec) not in lanes}
    if not fresh:
        return
    await conn.insert(
        "lanes",
        ("id", "name", "band", "spacing", "base_spacing", "burst", "cap"),
        [
            (i, s.key[:300], BANDS - 1, s.interval, s.interval, s.burst, s.cap)
            for i, s in sorted(fresh.items())
        ],
        on="ignore",
    )
    lanes.update(await lock_lanes(conn, fresh))


def _place(task: NewTask) -> int:
    return task.seq if task.kind == Kind.PAGE else URGENT + task.seq


async def into_queues(
    conn: Conn,
    job: int,
    band: int,
    ready: Sequence[tuple[int, int | None]],
    lanes: dict[int, Lane],
    now: int,
) -> None:
    """Count tasks of a job as waiting: the lane of each and its place there, or none while it is delayed."""
    counts: dict[int, int] = {}
    lowest: dict[int, int] = {}
    for lane, place in ready:
        counts.setdefault(lane, 0)
        if place is not None:
            counts[lane] += 1
            lowest[lane] = min(place, lowest.get(lane, place))
    rows = await conn.fetch(
        "SELECT lane, queued, low, active FROM queues WHERE job = $1 AND lane IN $2", job, sorted(counts)
    )
    there = {row[0]: row for row in rows}
    fresh = sorted(lane for lane in counts if lane not in there)
    room = await room_for_active(conn, job, len(fresh)) if fresh else 0
    active = set(fresh[:room]) | {row[0] for row in rows if row[3] == ACTIVE}
    await conn.insert(
        "queues",
        ("lane", "job", "queued", "low", "turn", "active"),
        [
            (lane, job, counts[lane], lowest.get(lane, 0), turn_at(now, band), int(lane in active))
            for lane in fresh
        ],
    )
    await conn.update(
        "queues",
        ("lane", "job"),
        ("queued", "low", "active"),
        [
            (lane, job, queued + counts[lane], min(low, lowest.get(lane, low)), with_more(state))
            for lane, queued, low, state in there.values()
        ],
    )
    for lane, n in counts.items():
        if n and lane in active:
            row = lanes[lane]
            row.band = band if row.queued == 0 else min(row.band, band)
            row.queued += n
            row.refresh(now)
