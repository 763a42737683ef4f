"""What is kept, for how long, and what goes with a job: a few rows at a time, and nothing else."""

import asyncio

import pytest

from fyke.core.ids import key16
from fyke.core.outcome import AddTasks, Compare, Verdict
from fyke.core.task import Kind, NewTask
from fyke.store.conn import Conn
from fyke.store.delete_job import delete_job
from fyke.store.purge import CHUNK, expire, forget_finished, purge
from fyke.store.schema import metadata
from tests.contract.looks import Look, watched
from tests.contract.rig import HOUR, Rig, outcome, page, pages, site

DAY = 24 * HOUR


async def delete(rig: Rig, job: int) -> None:
    await rig.database.write(lambda conn: delete_job(conn, job))


async def purge_all(rig: Rig) -> list[str]:
    """Purge until there is no more to do; the beginnings of the objects' keys."""
    found: set[str] = set()
    while True:
        gone = await rig.database.write(purge)
        found |= set(gone.objects)
        if not gone.more:
            return sorted(found)


async def rows_of(rig: Rig, job: int) -> dict[str, int]:
    """Tables that still know the job."""
    found = {}
    for name, table in metadata.tables.items():
        column = "id" if name == "jobs" else "job"
        if column in table.c:
            found[name] = await rig.value(f"SELECT count(*) FROM {name} WHERE {column} = $1", job)
    return {name: count for name, count in found.items() if count}


async def end_as(rig: Rig, state: str) -> int:
    """A job that ended a moment ago in that state."""
    job = await rig.job(pages(2))
    tasks = [t for t in await rig.claim() if t.job == job]
    if state == "cancelled":
        await rig.queue.hand_back(rig.lease, [t.id for t in tasks])
        await rig.cancel(job)
    verdicts = {"failed": (Verdict.FAILED,) * 2, "partial": (Verdict.FAILED, Verdict.SUCCEEDED)}
    if state != "cancelled":
        for task, verdict in zip(tasks, verdicts.get(state, (Verdict.SUCCEEDED,) * 2), strict=True):
            await rig.finish([task], verdict)
    await rig.drain()
    assert (await rig.get(job)).state == state
    return job


@pytest.mark.parametrize(
    ("state", "days"), [("succeeded", 30), ("partial", 30), ("cancelled", 30), ("failed", 90)]
)
async def test_results_go_after_their_time_and_failures_after_theirs(rig: Rig, state: str, days: int) -> None:
    old, young = await end_as(rig, state), await end_as(rig, state)
    running = await rig.job(pages(1, site("b")))
    for job, age in ((old, days * DAY + HOUR), (young, days * DAY - HOUR)):
        await rig.execute(
            "UPDATE jobs SET created_at = created_at - $2, finished_at = finished_at - $2 WHERE id = $1",
            job,
            age,
        )
    await rig.execute("UPDATE jobs SET created_at = 1 WHERE id = $1", running)

    async def work(conn: Conn) -> int:
        return await expire(conn, 30 * DAY, 90 * DAY)

    assert await rig.database.write(work) == 1
    await purge_all(rig)
    assert await rows_of(rig, old) in ({}, {"finished": 2})
    assert (await rig.get(young)).state == state
    assert await rig.value("SELECT count(*) FROM pages WHERE job = $1", young) == (
        0 if state == "cancelled" else 2
    )
    assert (await rig.get(running)).open == 1, "what runs is kept however old it is"
    await rig.check()


async def test_nothing_of_a_deleted_job_is_left_and_nothing_of_others_is_gone(rig: Rig) -> None:
    """With tasks that are ready, delayed, to run alone, and under a dedupe key."""
    check = NewTask(Kind.NOOP, 900, site("b"), dedupe=key16("term-12"))
    kept = await rig.job(pages(5))
    job = await rig.job([*pages(12, first=100), *pages(3, site("b"), first=200), check])
    tasks = [t for t in await rig.claim() if t.job == job]
    seen = Compare(tasks[0].seq, tasks[0].url, "a.test", "product", 1)
    await rig.settle(outcome(tasks[0], Verdict.SUCCEEDED, seen, AddTasks((page(300),))))
    await rig.settle(outcome(tasks[1], Verdict.RETRY, delay=HOUR))
    await rig.die()
    alone = await rig.claim_alone()
    assert alone is not None
    await delete(rig, job)
    assert (await rig.database.write(purge)).more is False, "not while one of its tasks runs"
    assert "tasks" in await rows_of(rig, job)
    await rig.finish([alone])
    await rig.ends()
    await rig.drain()
    objects = await purge_all(rig)
    assert objects
    left = await rows_of(rig, job)
    assert left.keys() <= {"finished"}
    assert await rig.value("SELECT count(*) FROM dedupe_keys") == 0
    await rig.check()
    assert (await rig.get(kept)).succeeded == 5
    assert await rig.value("SELECT count(*) FROM snapshots") == 1, "the next crawl compares with it"
    again = await rig.job([check])
    assert (await rig.get(again)).open == 1


async def test_done_tasks_are_forgotten_a_day_after_their_job(rig: Rig) -> None:
    """Until then the same outcome sent again is accepted."""
    done = await rig.job(pages(3))
    await rig.drain()
    await rig.job(pages(2, first=10))
    (task, _) = await rig.claim(2)
    await rig.finish([task])
    await rig.execute("UPDATE finished SET at = at - $1", DAY + HOUR)
    assert (await rig.database.write(forget_finished))[0] == 1, "the last task; the job ended just now"
    await rig.execute("UPDATE jobs SET finished_at = finished_at - $1 WHERE id = $2", DAY + HOUR, done)
    dropped, after = await rig.database.write(forget_finished)
    assert (dropped, after) == (3, -1)
    assert (await rig.finish([task])).accepted == [task.id], "of a job that goes on"


async def test_a_large_job_is_cancelled_and_deleted_a_few_rows_at_a_time(rig: Rig) -> None:
    """50,000 tasks that wait: no step looks at more than a part of them, even by a planner that has not
    been told of them yet."""
    lanes = [f"s{n}" for n in range(100)]
    job = await rig.job([page(n, site(lane)) for n, lane in enumerate(lanes)])
    first = await rig.rows("SELECT id, lane FROM tasks ORDER BY id")
    amount = 50_000  # their ids lie before those that are made from now on
    lane_ids = [lane for _, lane in first]
    rows = [
        (first[0][0] - 1 - n, job, lane_ids[n % 100], "page", 1000 + n, 1000 + n, "http://x.test/", "")
        for n in range(amount - 100)
    ]
    columns = ("id", "job", "lane", "kind", "place", "seq", "url", "payload")
    for start in range(0, len(rows), 5000):
        some = rows[start : start + 5000]
        await rig.database.write(lambda conn, some=some: conn.insert("tasks", columns, some))  # type: ignore[misc]  # bound default
    await rig.execute("UPDATE jobs SET open = $2, total = $2 WHERE id = $1", job, amount)
    assert await rig.audit() == 200, "each lane and its queue"
    await rig.check()
    await rig.execute("UPDATE leases SET until = until + $1", HOUR)
    await rig.cancel(job)
    while await rig.activity():
        pass
    last = await rig.claim()
    assert [task.kind for task in last] == [Kind.FINISH]
    await rig.finish(last)
    assert (await rig.get(job)).open == amount, "a cancelled job can be resumed"
    await delete(rig, job)
    looks: list[Look] = []
    steps = 0

    async def step(conn: Conn) -> bool:
        looks.clear()
        return (await purge(watched(conn, looks) if steps % 20 == 0 else conn)).more

    while await rig.database.write(step):
        steps += 1
        worst = max(looks, key=lambda one: one.rows, default=None)
        assert worst is None or worst.rows <= 20 * CHUNK, worst
    assert steps >= amount // CHUNK
    assert (await rows_of(rig, job)).keys() <= {"finished"}
    assert await rig.value("SELECT coalesce(sum(queued), 0) FROM lanes") == 0
    await rig.check()


async def test_processes_that_purge_the_same_job_do_not_stumble(rig: Rig) -> None:
    for _ in range(12):
        job = await rig.job(pages(3))
        await rig.drain()
        await delete(rig, job)
        await asyncio.gather(purge_all(rig), purge_all(rig), purge_all(rig))
        assert set(await rows_of(rig, job)) <= {"finished"}
