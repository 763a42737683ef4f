"""Tasks that kill their workers are found out; innocents are not."""

import asyncio

import pytest

from fyke.core.outcome import PageRow, Verdict
from fyke.core.task import Kind
from fyke.store.conn import Conn
from fyke.store.queue import sql
from fyke.store.queue.add import lane_of
from tests.contract.rig import Rig, outcome, page, pages, site


async def test_what_died_together_runs_alone_after(rig: Rig) -> None:
    job = await rig.job(pages(6))
    held = await rig.claim(4)
    await rig.die()
    batch = await rig.queue.claim(rig.lease, 10)
    assert [t.seq for t in batch.tasks] == [4, 5], "nothing that died is handed out among others"
    assert batch.suspects
    await rig.finish(batch.tasks)
    for _ in held:
        task = await rig.claim_alone()
        assert task is not None
        assert task.alone
        assert (task.attempt, task.claims) == (1, 2)
        await rig.check()
        await rig.finish([task])
    await rig.check()
    assert await rig.claim_alone() is None
    assert not (await rig.queue.claim(rig.lease, 10)).suspects
    assert (await rig.get(job)).succeeded == 6


async def test_those_of_a_stopped_job_hide_no_others(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "MOST_SUSPECTS", 10)
    stopped = await rig.job(pages(30, site("a")))
    await rig.claim_all()
    await rig.cancel(stopped)
    await rig.die()
    goes_on = await rig.job(pages(1, site("b")))
    await rig.finish([task for task in await rig.claim() if task.job == 0])
    await rig.die()
    await rig.hurry()
    task = await rig.claim_alone()
    assert task is not None
    assert task.job == goes_on


async def test_three_deaths_alone_and_a_task_is_set_aside(rig: Rig) -> None:
    """The guilty one of five, by a worker that dies whenever it has it."""
    job = await rig.job(pages(5))
    deaths, done = 0, set()
    for _ in range(30):
        await rig.hurry()
        alone = await rig.claim_alone()
        tasks = [alone] if alone else await rig.claim()
        if any(t.kind == Kind.PAGE and t.seq == 3 for t in tasks):
            deaths += 1
            await rig.die()
        else:
            done |= {t.seq for t in tasks if t.kind == Kind.PAGE}
            await rig.finish(tasks)
        await rig.check()
    assert deaths == 4, "once among others, three times alone"
    assert done == {0, 1, 2, 4}
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded, ended.failed) == ("partial", 4, 1)
    rows = await rig.rows("SELECT seq, state, error_class FROM pages WHERE state <> 'succeeded'")
    assert rows == [(3, "quarantined", "worker_killed")]


async def test_one_that_struck_rests_longer_each_time(rig: Rig) -> None:
    await rig.job(pages(1))
    await rig.claim()
    await rig.die()
    rests = []
    for _ in range(2):
        await rig.hurry()
        assert await rig.claim_alone() is not None
        await rig.die()
        rests.append(await rig.value("SELECT due FROM suspects") - await rig.now())
        assert await rig.claim_alone() is None
    assert 1_000_000 < rests[0] < rests[1]


async def test_a_worker_that_dies_over_and_over_takes_no_innocent_with_it(rig: Rig) -> None:
    """A hundred deaths with whatever was held, each task alone or not: as when a machine is switched off."""
    job = await rig.job(pages(12))
    for number in range(40):
        await rig.hurry()
        alone = await rig.claim_alone()
        tasks = [alone] if alone else await rig.claim(4)
        if alone or number % 3 == 0:
            await rig.finish(tasks)  # what runs alone lives
        else:
            await rig.die()
    await rig.drain()
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded) == ("succeeded", 12)
    assert await rig.value("SELECT count(*) FROM finished WHERE verdict = 'quarantined'") == 0


async def test_a_suspect_handed_back_is_still_to_run_alone_and_has_no_strike(rig: Rig) -> None:
    await rig.job(pages(2))
    await rig.claim()
    await rig.die()
    for _ in range(5):
        task = await rig.claim_alone()
        assert task is not None
        await rig.queue.hand_back(rig.lease, [task.id])
        await rig.check()
        task = await rig.claim_alone()
        assert task is not None
        await rig.settle(outcome(task, Verdict.REQUEUE))
        await rig.check()
        assert await rig.claim_alone() is not None
        await rig.queue.close_lease(rig.lease)
        await rig.check()
        rig.lease = await rig.open_lease()
    assert await rig.claim() == []
    assert await rig.rows("SELECT strikes FROM tasks") == [(0,), (0,)]


async def test_one_that_lived_alone_is_trusted_again(rig: Rig) -> None:
    """Its retry runs among others, and dying with them is no strike, even under the same lease."""
    await rig.job(pages(2))
    await rig.claim(1)
    await rig.die()
    task = await rig.claim_alone()
    assert task is not None
    await rig.settle(outcome(task, Verdict.RETRY))
    await rig.hurry()
    await rig.promote()
    assert len(await rig.claim()) == 2
    await rig.die()
    await rig.check()
    assert await rig.rows("SELECT strikes FROM tasks") == [(0,), (0,)]


async def test_one_that_comes_back_from_running_alone_with_a_new_payload_has_lived(rig: Rig) -> None:
    """A plan that ended its turn: it goes on from where it came to, and needs to run alone no more."""
    await rig.job(pages(2))
    await rig.claim(1)
    await rig.die()
    task = await rig.claim_alone()
    assert task is not None
    await rig.settle(outcome(task, Verdict.REQUEUE, payload=b'{"start":1000}'))
    await rig.check()
    assert await rig.claim_alone() is None
    again = next(t for t in await rig.claim() if t.id == task.id)
    assert (again.payload, again.attempt, again.alone) == (b'{"start":1000}', 1, False)
    await rig.die()
    assert await rig.rows("SELECT strikes FROM tasks") == [(0,), (0,)]


async def test_part_of_the_work_done_does_not_end_its_running_alone(rig: Rig) -> None:
    await rig.job(pages(1))
    await rig.claim()
    await rig.die()
    task = await rig.claim_alone()
    assert task is not None
    await rig.settle(outcome(task, Verdict.CONTINUE, PageRow(0, task.url, "failed", 1)))
    await rig.die()
    assert await rig.rows("SELECT strikes FROM tasks") == [(1,)]


async def test_suspects_keep_the_limits_of_their_lane_and_job(rig: Rig) -> None:
    capped = await rig.job(pages(3), max_concurrency=1)
    await rig.claim()
    await rig.die()
    (other,) = await rig.claim(5)
    assert other.job == capped
    assert await rig.claim_alone() is None, "the job's one place is taken"
    await rig.finish([other])
    assert await rig.claim_alone() is not None
    await rig.check()


async def test_suspects_that_cannot_run_do_not_hide_those_that_can(rig: Rig) -> None:
    stopped = await rig.job(pages(30, site("a")))
    await rig.job(pages(30, site("paused"), first=100))
    await rig.job([page(500, site("free"))])
    assert len(await rig.claim_all()) == 61
    await rig.die()
    await rig.cancel(stopped)
    await rig.execute("UPDATE lanes SET look_at = $1, next_slot = $1 WHERE name = 'paused.test'", 1 << 60)
    await rig.execute("UPDATE suspects SET due = 9 WHERE task IN (SELECT id FROM tasks WHERE seq = 500)")
    await rig.execute("UPDATE suspects SET due = 5 WHERE due <> 9")
    task = await rig.claim_alone()
    assert task is not None
    assert task.seq == 500


async def test_two_workers_share_the_suspects_without_doubling(rig: Rig) -> None:
    await rig.job(pages(4))
    await rig.claim()
    await rig.die()
    other = await rig.open_lease("other")
    one, two = await rig.claim_alone(), await rig.claim_alone(other)
    assert one is not None
    assert two is not None
    assert one.id != two.id
    await rig.check()


async def test_a_last_task_that_kills_ends_its_job_without_it(rig: Rig) -> None:
    job = await rig.job(pages(2))
    await rig.finish(await rig.claim())
    for _ in range(4):
        await rig.hurry()
        assert await rig.claim_alone() or await rig.claim()
        await rig.die()
        await rig.check()
    ended = await rig.get(job)
    assert (ended.state, ended.phase) == ("succeeded", "done")
    assert ended.error_message is not None
    assert "died" in ended.error_message
    await rig.check()


async def hold(rig: Rig, sql: str, *args: object) -> tuple[asyncio.Event, "asyncio.Task[None]"]:
    """Somebody holds the rows of a statement until the event is set."""
    held, go = asyncio.Event(), asyncio.Event()

    async def work(conn: Conn) -> None:
        await conn.fetch(sql + "{lock}", *args)
        held.set()
        await go.wait()

    holding = asyncio.create_task(rig.database.write(work))
    await held.wait()
    return go, holding


@pytest.mark.parametrize("what", ["lane", "job"])
async def test_what_somebody_holds_does_not_keep_other_suspects_waiting(rig: Rig, what: str) -> None:
    if not rig.database.shared:
        pytest.skip("where one process writes, nobody else holds anything")
    held = await rig.job(pages(1, site("a")))
    free = await rig.job(pages(1, site("b")))
    await rig.claim()
    await rig.die()
    if what == "lane":
        go, holding = await hold(rig, "SELECT id FROM lanes WHERE id = $1", lane_of(site("a")))
    else:
        go, holding = await hold(rig, "SELECT id FROM jobs WHERE id = $1", held)
    try:
        async with asyncio.timeout(5):
            task = await rig.claim_alone()
            assert task is not None
            assert task.job == free
            assert await rig.claim_alone() is None, "asked for again for a while, not waited for"
    finally:
        go.set()
        await holding
    task = await rig.claim_alone()
    assert task is not None
    assert task.job == held
    await rig.check()
