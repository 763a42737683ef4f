"""Which queues take part in their lanes: those that are active. Claims look at no others.

The queues of a job that is stopped rest, so that claims do not walk past them. A job with a cap keeps a
few times as many active as it may run tasks at once, and the others rest until it is their turn: else a
cap of 2 over 100,000 lanes would fill the front of every claim with lanes that have nothing to give, and
hide those of other jobs. Queues that are empty, or whose lanes' next slots are far away, make room for
others, taken from anywhere among those that rest. When a job is over and nothing of it is left, its queues
go: a lane that has served a thousand jobs is not to be looked up among a thousand rows.
"""

import random
from collections.abc import Iterable, Sequence

from fyke.core.clock import SECOND
from fyke.store.conn import Conn
from fyke.store.queue.lanes import Lane
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["ACTIVE", "CHUNK", "EMPTY", "RESTING", "room_for_active", "settle_activity", "with_more"]

RESTING, ACTIVE, EMPTY = 0, 1, 2  # queues.active; EMPTY rests, too, and has nothing to be active for
CHUNK = 500
LEAST = 64
TIMES_CAP = 8
SOON = SECOND  # a lane that may start within it keeps its place
LOOKED_AT = 4  # resting queues looked at for each that is wanted: some of their lanes are not due

STOPPED = """
    SELECT id, open FROM jobs WHERE lively = 1 AND (phase <> 'crawl' OR stop IS NOT NULL)
    ORDER BY id LIMIT 1"""

STILL_STOPPED = "SELECT open FROM jobs WHERE id = $1 AND (phase <> 'crawl' OR stop IS NOT NULL){lock}"

# Not EXISTS, which MariaDB answers from a list of all queues that rest.
WITH_RESTING = """
    SELECT id, cap FROM jobs j WHERE phase = 'crawl' AND stop IS NULL
    AND (SELECT q.lane FROM queues q{by queues_job} WHERE q.job = j.id AND q.active = 0
        ORDER BY q.lane LIMIT 1) IS NOT NULL"""

ACTIVE_ONES = """
    SELECT q.lane, q.queued, l.look_at FROM queues q JOIN lanes l ON l.id = q.lane
    WHERE q.job = $1 AND q.active = 1 LIMIT $2"""

GOES_ON = "SELECT id FROM jobs WHERE id = $1 AND phase = 'crawl' AND stop IS NULL{lock}"

RESTING_ONES = """
    SELECT lane FROM queues WHERE job = $1 AND active = 0 AND lane > $2 ORDER BY lane LIMIT $3"""


def with_more(active: int) -> int:
    """What a queue is when tasks come to it."""
    return RESTING if active == EMPTY else active


def most_active(cap: int) -> int:
    return max(LEAST, TIMES_CAP * cap)


async def room_for_active(conn: Conn, job: int, wanted: int) -> int:
    """How many of `wanted` new queues of a job may be active from the beginning."""
    rows = await conn.fetch("SELECT cap, stop FROM jobs WHERE id = $1", job)
    if not rows:
        return wanted  # Fyke's own
    cap, stop = rows[0]
    if stop is not None:
        return 0
    if not cap:
        return wanted
    most = most_active(cap)
    active = await conn.fetch("SELECT lane FROM queues WHERE job = $1 AND active = 1 LIMIT $2", job, most)
    return max(0, min(wanted, most - len(active)))


async def settle_activity(conn: Conn) -> int:
    """One step, of at most CHUNK queues; how many it changed."""
    return await _rest_stopped(conn) or await _take_turns(conn)


async def _rest_stopped(conn: Conn) -> int:
    rows = await conn.fetch(STOPPED)
    if not rows:
        return 0
    job, left = rows[0]
    if left:
        found = await conn.fetch("SELECT lane FROM queues WHERE job = $1 AND active = 1 LIMIT $2", job, CHUNK)
    else:
        found = await conn.fetch("SELECT lane FROM queues WHERE job = $1 LIMIT $2", job, CHUNK)
    lanes = await lock_lanes(conn, [row[0] for row in found])
    ids = sorted(lanes)
    still = await conn.fetch(STILL_STOPPED, job)
    if not still or bool(still[0][0]) != bool(left):
        return 1  # a retry or a resume was first: look again
    if left:
        await conn.update("queues", ("lane", "job"), ("active",), [(lane, job, RESTING) for lane in ids])
    elif ids:
        await conn.execute("DELETE FROM queues WHERE job = $1 AND lane IN $2", job, ids)
    await _sum_up(conn, lanes)
    if len(found) < CHUNK:
        await conn.execute(
            "UPDATE jobs SET lively = 0 WHERE id = $1 AND (phase <> 'crawl' OR stop IS NOT NULL)", job
        )
    return max(1, len(found))


async def _take_turns(conn: Conn) -> int:
    handled = 0
    for job, cap in await conn.fetch(WITH_RESTING):
        if handled < CHUNK:
            handled += await (_wake_some(conn, job, most_active(cap)) if cap else _wake_all(conn, job))
    return handled


async def _wake_all(conn: Conn, job: int) -> int:
    found = await conn.fetch(RESTING_ONES, job, -1, CHUNK)
    return await _change(conn, job, [row[0] for row in found], [])


async def _wake_some(conn: Conn, job: int, most: int) -> int:
    soon = await conn.now() + SOON
    active = await conn.fetch(ACTIVE_ONES, job, most)
    idle = [lane for lane, queued, look_at in active if queued <= 0 or look_at > soon]
    room = min(CHUNK // 2, most - len(active) + len(idle))
    if room <= 0:
        return 0
    found = await _anywhere(conn, job, room * LOOKED_AT)
    due = await conn.fetch("SELECT id FROM lanes WHERE id IN $1 AND look_at <= $2", found, soon)
    wake = sorted(row[0] for row in due)[:room]
    return await _change(conn, job, wake, idle[: max(0, len(active) + len(wake) - most)])


async def _anywhere(conn: Conn, job: int, amount: int) -> list[int]:
    """Lanes of resting queues from a random one on, so that each has its turn: their ids are hashes."""
    start = random.getrandbits(63)
    found = [row[0] for row in await conn.fetch(RESTING_ONES, job, start, amount)]
    if len(found) < amount:
        rest = await conn.fetch(RESTING_ONES, job, -1, amount - len(found))
        found += [row[0] for row in rest if row[0] <= start]
    return found


async def _change(conn: Conn, job: int, wake: Sequence[int], rest: Iterable[int]) -> int:
    """Under the lanes' locks, as things stand then."""
    if not wake:
        return 0
    lanes = await lock_lanes(conn, {*wake, *rest})
    if not await conn.fetch(GOES_ON, job):
        return 0
    rows = await conn.fetch(
        "SELECT lane, queued, active FROM queues WHERE job = $1 AND lane IN $2", job, sorted(lanes)
    )
    woken = set(wake)
    changes: list[tuple[int, int, int]] = []
    for lane, queued, active in rows:
        if lane in woken and active != ACTIVE:
            changes.append((lane, job, ACTIVE))
        elif lane not in woken and active == ACTIVE:
            changes.append((lane, job, RESTING if queued > 0 else EMPTY))
    await conn.update("queues", ("lane", "job"), ("active",), changes)
    await _sum_up(conn, lanes)
    return len(changes)


async def _sum_up(conn: Conn, lanes: dict[int, Lane]) -> None:
    """Count again what waits in the active queues of locked lanes."""
    if not lanes:
        return
    sums = await conn.fetch(
        "SELECT q.lane, sum(q.queued), min(coalesce(j.band, 8)) FROM queues q"
        " LEFT JOIN jobs j ON j.id = q.job WHERE q.lane IN $1 AND q.active = 1 AND q.queued > 0"
        " GROUP BY q.lane",
        sorted(lanes),
    )
    now = await conn.now()
    found = {row[0]: (int(row[1]), row[2]) for row in sums}
    for lane in lanes.values():
        lane.queued, lane.band = found.get(lane.id, (0, lane.band))
        lane.refresh(now)
    await write_lanes(conn, lanes.values())
