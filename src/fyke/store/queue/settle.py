"""Settling: one transaction that completes a batch of tasks and writes what they brought.

Locks are taken in one order: lanes by id, then jobs by id, but for lanes that are new and that of last
tasks (see `claim`). Leased tasks need none of their own: whoever settles them, takes them back or claims
them holds their lane. An outcome whose task does
not carry the lease is refused, alone, unless it is one that was settled before: then the answer was lost,
not the work, and it is accepted again.
"""

from collections.abc import Sequence

from msgspec import Struct, field, structs

from fyke.core.outcome import (
    COMPLETING,
    AddSources,
    AddTasks,
    JobLog,
    Outcome,
    Settled,
    SlowLane,
    SourceRead,
    Verdict,
)
from fyke.core.task import Kind, LaneSpec
from fyke.store.conn import Conn, Row
from fyke.store.effects import apply_effects
from fyke.store.queue.activity import ACTIVE, with_more
from fyke.store.queue.add import into_queues, keep_left, lane_of, make_lanes, plan_tasks, write_tasks
from fyke.store.queue.claim import LEASE
from fyke.store.queue.lanes import Lane, slow
from fyke.store.queue.progress import JobDelta, move_jobs
from fyke.store.queue.sources import add_sources, begin_next, end_source, lane_after
from fyke.store.queue.sql import lock_lanes, write_lanes

__all__ = ["TaskRow", "settle"]

# By their ids alone: asked for the lease as well, PostgreSQL may take the index of leases, whose entries of
# what was settled before are as many again.
TASKS = """
    SELECT lease, id, job, lane, kind, place, seq, claims, attempt, url, dedupe FROM tasks
    WHERE id IN $1"""

SETTLED_BEFORE = "SELECT task, claims FROM finished WHERE task IN $1 AND lease = $2"

# What brings tasks, and so lanes, besides those of the outcomes; and lines for the logs of jobs.
SELDOM = (AddTasks, SourceRead, JobLog)

FINISHED = ("task", "job", "lease", "claims", "kind", "seq", "verdict", "at")


class TaskRow(Struct):
    """A leased task as it is read under lock."""

    id: int
    job: int
    lane: int
    kind: str
    place: int
    seq: int
    claims: int
    attempt: int
    url: str
    dedupe: bytes | None


class Work(Struct):
    """What one settling is about to do."""

    now: int
    lease: int
    alone: int | None = None  # the task that ran alone under the lease
    pairs: list[tuple[TaskRow, Outcome]] = field(default_factory=list)
    lanes: dict[int, Lane] = field(default_factory=dict)
    deltas: dict[int, JobDelta] = field(default_factory=dict)

    def delta(self, job: int) -> JobDelta:
        return self.deltas.setdefault(job, JobDelta())


async def settle(conn: Conn, lease: int, outcomes: Sequence[Outcome]) -> Settled:
    now = await conn.now()
    held = await conn.fetch(LEASE, lease)
    if not held or held[0][0] <= now:
        return await _answer_late(conn, lease, outcomes)
    work = Work(now, lease)
    more = [(o.task, e) for o in outcomes for e in o.effects if type(e) in SELDOM]
    children = [e for _, e in more if type(e) is AddTasks]
    lane_ids = {o.lane for o in outcomes} | {lane_of(t.lane) for e in children for t in e.tasks}
    lane_ids |= {lane_of(o.to) for o in outcomes if o.to is not None}
    for task, effect in more:
        if type(effect) is SourceRead:
            lane_ids.update(await lane_after(conn, task, effect.number))
    work.lanes = await lock_lanes(conn, lane_ids)
    by_id = _by_task(outcomes)
    found = await conn.fetch(TASKS, sorted(by_id))
    rows = [TaskRow(*row) for held_under, *row in found if held_under == lease]
    work.alone = held[0][1]
    work.pairs = [(row, by_id[row.id]) for row in rows if _belongs(by_id[row.id], row)]
    work.pairs.sort(key=lambda pair: pair[0].seq)
    if children:
        await _add_tasks(conn, work)
    await _move_plans(conn, work)
    if more:
        _add_lines(work)
    await apply_effects(conn, now, work.pairs, work.delta)
    await _complete(conn, work)
    await _put_back(conn, work)
    await _move_lanes(conn, work)
    await move_jobs(conn, now, work.deltas)
    halted = await _halted(conn, work)
    accepted = [row.id for row, _ in work.pairs]
    if len(accepted) == len(outcomes):
        return Settled(accepted, [], halted)
    mine = set(accepted)
    rest = [o for o in outcomes if o.task not in mine]
    late = await _answer_late(conn, lease, rest)
    return Settled(accepted + late.accepted, late.refused, halted)


def _belongs(outcome: Outcome, row: TaskRow) -> bool:
    return outcome.claims == row.claims and outcome.lane == row.lane


def _by_task(outcomes: Sequence[Outcome]) -> dict[int, Outcome]:
    """One outcome for each task: the last, with what partial ones before it brought."""
    found: dict[int, Outcome] = {}
    for outcome in outcomes:
        before = found.get(outcome.task)
        if before is not None and before.verdict == Verdict.CONTINUE and before.claims == outcome.claims:
            outcome = structs.replace(outcome, effects=before.effects + outcome.effects)
        found[outcome.task] = outcome
    return found


async def _answer_late(conn: Conn, lease: int, outcomes: Sequence[Outcome]) -> Settled:
    """Outcomes whose tasks are not held (any more): accepted if they were settled before."""
    rows = await conn.fetch(SETTLED_BEFORE, [o.task for o in outcomes], lease)
    before = {(row[0], row[1]) for row in rows}
    accepted = [o.task for o in outcomes if (o.task, o.claims) in before]
    refused = [o.task for o in outcomes if (o.task, o.claims) not in before]
    return Settled(accepted, refused)


async def _halted(conn: Conn, work: Work) -> dict[int, str]:
    """By job of a task that goes on, why the job takes no more URLs."""
    going_on = {row.job for row, outcome in work.pairs if outcome.verdict == Verdict.CONTINUE and row.job}
    if not going_on:
        return {}
    rows = await conn.fetch("SELECT id, stop, close_reason FROM jobs WHERE id IN $1", sorted(going_on))
    reasons = {row[0]: row[1] or row[2] for row in rows}
    return {job: reason for job in going_on if (reason := reasons.get(job, "delete"))}


async def _add_tasks(conn: Conn, work: Work) -> None:
    for row, outcome in sorted(work.pairs, key=lambda pair: pair[0].job):  # each job is locked here
        for effect in outcome.effects:
            if type(effect) is AddTasks:
                delta = work.delta(row.job)
                plan = await plan_tasks(conn, row.job, effect.tasks, delta.total)
                delta.open += await write_tasks(conn, row.job, plan, work.lanes, work.now)
                delta.total += plan.pages
                if plan.left:
                    delta.close_reason = "max_urls"
                    if row.kind == Kind.PAGE:  # a source is read again when the job goes on
                        delta.links_left += await keep_left(conn, row.job, plan, delta.links_left)


async def _move_plans(conn: Conn, work: Work) -> None:
    """Sources found and read: the next one becomes a task, or the plan is done."""
    for row, outcome in work.pairs:
        for effect in outcome.effects:
            if type(effect) is AddSources:
                await add_sources(conn, row.job, effect)
            elif type(effect) is SourceRead:
                await end_source(conn, row.job, effect)
                delta = work.delta(row.job)
                delta.warnings += effect.warnings
                if effect.message:
                    delta.log.append(effect.message)
                more = await begin_next(conn, row.job, effect.next_seq, work.lanes, work.now)
                delta.open += int(more)
                delta.planned = not more


def _add_lines(work: Work) -> None:
    """What the jobs' logs are told."""
    for row, outcome in work.pairs:
        for effect in outcome.effects:
            if type(effect) is JobLog:
                work.delta(row.job).log.append(effect.message)


async def _complete(conn: Conn, work: Work) -> None:
    """Move done tasks to `finished`, and count them."""
    done = [(row, outcome) for row, outcome in work.pairs if outcome.verdict in COMPLETING]
    if not done:
        return
    await conn.insert(
        "finished",
        FINISHED,
        [(r.id, r.job, work.lease, r.claims, r.kind, r.seq, o.verdict, work.now) for r, o in done],
    )
    ids = [row.id for row, _ in done]
    await conn.execute("DELETE FROM tasks WHERE id IN $1", ids)
    if any(row.dedupe for row, _ in done):
        await conn.execute(
            "DELETE FROM dedupe_keys WHERE dedupe IN $1", [row.dedupe for row, _ in done if row.dedupe]
        )
    for row, outcome in done:
        delta = work.delta(row.job)
        delta.open -= 1
        if row.kind == Kind.PAGE:
            delta.count(outcome.verdict)
            delta.pages.append(row.seq)


async def _put_back(conn: Conn, work: Work) -> None:
    """Tasks that are to be tried again, at once or later."""
    pairs = await _still_alone(conn, work) if work.alone else work.pairs
    ready = [(r, o) for r, o in pairs if o.verdict == Verdict.REQUEUE and not o.delay]
    later = [
        (r, o) for r, o in pairs if o.verdict == Verdict.RETRY or (o.verdict == Verdict.REQUEUE and o.delay)
    ]
    await conn.update(
        "tasks",
        ("id",),
        ("state", "lease", "attempt"),
        [(r.id, 0, None, r.attempt) for r, _ in ready]
        + [(r.id, 1, None, r.attempt + (o.verdict == Verdict.RETRY)) for r, o in later],
    )
    payloads = [(r.id, o.payload.decode()) for r, o in (*ready, *later) if o.payload is not None]
    await conn.update("tasks", ("id",), ("payload",), payloads)
    await conn.insert("delays", ("task", "job", "due"), [(r.id, r.job, work.now + o.delay) for r, o in later])
    if ready:
        if stay := [(r.lane, r.job, r.place) for r, o in ready if o.to is None]:
            await back_to_queue(conn, stay, work.lanes)
        await _change_lanes(conn, [(r, o.to) for r, o in ready if o.to is not None], work)


async def _change_lanes(conn: Conn, moved: Sequence[tuple[TaskRow, LaneSpec]], work: Work) -> None:
    """Tasks whose next step is another lane's to allow wait there from now on, at their old places."""
    if not moved:
        return
    await make_lanes(conn, [to for _, to in moved], work.lanes)
    await conn.update("tasks", ("id",), ("lane",), [(row.id, lane_of(to)) for row, to in moved])
    by_job: dict[int, list[tuple[int, int | None]]] = {}
    for row, to in moved:
        by_job.setdefault(row.job, []).append((lane_of(to), row.place))
    for job, band in await conn.fetch("SELECT id, band FROM jobs WHERE id IN $1", sorted(by_job)):
        await into_queues(conn, job, band, by_job[job], work.lanes, work.now)


async def _still_alone(conn: Conn, work: Work) -> list[tuple[TaskRow, Outcome]]:
    """The one task that ran alone has survived; unless it did not run after all: then it is to run
    alone another time, and the others are returned. One that comes back with a new payload did run."""
    pairs = [(r, o) for r, o in work.pairs if r.id == work.alone and o.verdict != Verdict.CONTINUE]
    if not pairs:
        return work.pairs
    await conn.execute("DELETE FROM alone WHERE task = $1", work.alone)
    row, outcome = pairs[0]
    if outcome.verdict != Verdict.REQUEUE or outcome.payload is not None:
        return work.pairs
    await conn.execute("UPDATE tasks SET state = 3, lease = NULL WHERE id = $1", row.id)
    await conn.insert("suspects", ("task", "job", "due"), [(row.id, row.job, work.now + outcome.delay)])
    return [pair for pair in work.pairs if pair[0] is not row]


async def back_to_queue(conn: Conn, tasks: Sequence[tuple[int, int, int]], lanes: dict[int, Lane]) -> None:
    """Count tasks (lane, job, place) as waiting again; their lanes are locked."""
    groups: dict[tuple[int, int], list[int]] = {}
    for lane, job, place in tasks:
        groups.setdefault((lane, job), []).append(place)
    keys = sorted(groups)
    rows = await conn.fetch(
        "SELECT q.lane, q.job, q.queued, q.low, q.active, coalesce(j.band, 8)"
        " FROM queues q LEFT JOIN jobs j ON j.id = q.job"
        " WHERE q.lane IN $1 AND q.job IN $2",
        sorted({lane for lane, _ in keys}),
        sorted({job for _, job in keys}),
    )
    updates: list[Row] = []
    for lane, job, queued, low, active, band in rows:
        places = groups.get((lane, job))
        if places is None:
            continue
        updates.append((lane, job, queued + len(places), min(low, *places), with_more(active)))
        if active == ACTIVE:
            row = lanes[lane]
            row.band = band if row.queued == 0 else min(row.band, band)
            row.queued += len(places)
    await conn.update("queues", ("lane", "job"), ("queued", "low", "active"), updates)


async def _move_lanes(conn: Conn, work: Work) -> None:
    for row, outcome in work.pairs:
        lane = work.lanes[row.lane]
        for effect in outcome.effects:
            if type(effect) is SlowLane:
                slow(lane, work.now, effect.pause, effect.halve, effect.duration, effect.interval)
        if outcome.verdict == Verdict.CONTINUE:
            continue
        lane.in_flight = max(0, lane.in_flight - 1)
        if lane.cap == 1 and lane.spacing and outcome.late:
            # It started late, and nothing after it has been handed out: the next keeps its distance.
            lane.next_slot += min(outcome.late, lane.spacing)
        delta = work.delta(row.job)
        delta.in_flight -= 1
        delta.bytes += outcome.bytes_in
        delta.residential_bytes += outcome.residential_bytes
    for lane in work.lanes.values():
        lane.refresh(work.now)
    await write_lanes(conn, work.lanes.values())
