"""Leases: renewed, run out, taken over; and what a worker that lost its lease can no longer do."""

import asyncio

import pytest

from fyke.core.errors import LeaseLost
from fyke.core.outcome import AddTasks, Outcome, PageRow, SlowLane, Verdict
from fyke.store.conn import Conn
from fyke.store.queue import SqlQueue
from fyke.store.queue.claim import claim
from tests.contract.rig import HOUR, Rig, outcome, page, pages, site


async def test_a_lease_lasts_its_time_by_the_clock_of_the_database(rig: Rig) -> None:
    before = await rig.now()
    lease = await rig.open_lease()
    until = await rig.value("SELECT until FROM leases WHERE id = $1", lease)
    assert before + 15_000_000 <= until <= await rig.now() + 15_000_000


async def test_renewing_gives_the_full_time_again(rig: Rig) -> None:
    await rig.execute("UPDATE leases SET until = until - 10000000")
    old = await rig.value("SELECT until FROM leases")
    await rig.queue.renew(rig.lease)
    assert await rig.value("SELECT until FROM leases") - old >= 10_000_000


@pytest.mark.parametrize("swept", [False, True])
async def test_a_lease_that_ran_out_is_lost(rig: Rig, swept: bool) -> None:
    """Whether or not somebody has taken its tasks already."""
    await rig.job(pages(3))
    (task,) = await rig.claim(1)
    await rig.expire()
    if swept:
        await rig.sweep()
    with pytest.raises(LeaseLost):
        await rig.queue.renew(rig.lease)
    with pytest.raises(LeaseLost):
        await rig.queue.claim(rig.lease, 1)
    with pytest.raises(LeaseLost):
        await rig.queue.claim_suspect(rig.lease)
    settled = await rig.finish([task])
    assert (settled.accepted, settled.refused) == ([], [task.id])
    await rig.queue.hand_back(rig.lease, [task.id])
    await rig.check()


async def test_whoever_owns_the_data_ends_all_leases_at_once(rig: Rig) -> None:
    await rig.job(pages(3))
    other = await rig.open_lease("other")
    held = [*await rig.claim(1), *await rig.claim(1, other)]
    await SqlQueue(rig.database).expire_all()
    while await rig.sweep():
        pass
    for lease, task in zip((rig.lease, other), held, strict=True):
        assert (await rig.settle(outcome(task), lease=lease)).refused == [task.id]
    assert await rig.value("SELECT count(*) FROM leases") == 0
    await rig.check()


async def test_a_lease_that_lasts_is_not_swept(rig: Rig) -> None:
    await rig.job(pages(1))
    (task,) = await rig.claim()
    assert await rig.sweep() == 0
    assert (await rig.finish([task])).accepted == [task.id]


async def test_the_tasks_of_a_dead_worker_go_to_others(rig: Rig) -> None:
    job = await rig.job(pages(4))
    done, *held = await rig.claim(3)
    await rig.finish([done])
    assert await rig.die() == 2
    await rig.check()
    assert await rig.value("SELECT count(*) FROM leases") == 1
    worked = await rig.drain()
    assert sorted(t.seq for t in worked if t.job == job) == [1, 2, 3]
    assert {t.attempt for t in worked} == {1}, "a death is no attempt"
    assert sorted(t.seq for t in worked if t.alone) == [t.seq for t in held]
    assert (await rig.get(job)).state == "succeeded"
    await rig.check()


async def test_many_empty_leases_do_not_hold_up_a_takeover(rig: Rig) -> None:
    """One sweep finds the tasks however many idle workers died before."""
    await rig.job(pages(2))
    idle = [await rig.open_lease() for _ in range(30)]
    await rig.claim()
    await rig.execute("UPDATE leases SET until = 5")
    await rig.execute("UPDATE leases SET until = 1 WHERE id IN $1", idle)
    assert await rig.sweep() == 2
    await rig.check()


async def test_a_large_lease_is_taken_back_in_steps(rig: Rig) -> None:
    await rig.job(pages(1100))
    await rig.claim(1100)
    await rig.expire()
    assert [await rig.sweep() for _ in range(4)] == [500, 500, 100, 0]
    await rig.check()


async def late_outcomes(rig: Rig) -> tuple[list[Outcome], int]:
    """What a worker that was paused beyond its lease wants to write, while another has its tasks."""
    await rig.job([*pages(4), page(9, site("b"))])
    tasks = await rig.claim(4)
    old = rig.lease
    await rig.die()
    await rig.hurry()
    while await rig.claim_alone():
        pass
    verdicts = (Verdict.SUCCEEDED, Verdict.RETRY, Verdict.REQUEUE, Verdict.CONTINUE)
    return [
        outcome(
            task,
            verdict,
            PageRow(task.seq, task.url, "succeeded", 1),
            AddTasks((page(100 + task.seq),)),
            SlowLane(pause=HOUR),
            bytes_in=10,
            payload=b"late",
        )
        for task, verdict in zip(tasks, verdicts, strict=True)
    ], old


TABLES = (
    "jobs",
    "lanes",
    "queues",
    "tasks",
    "delays",
    "suspects",
    "alone",
    "leases",
    "finished",
    "pages",
    "seen",
)


async def everything(rig: Rig) -> list[object]:
    return [sorted(map(repr, await rig.rows(f"SELECT * FROM {table}"))) for table in TABLES]


async def test_late_outcomes_are_refused_and_change_nothing(rig: Rig) -> None:
    late, old = await late_outcomes(rig)
    before = await everything(rig)
    settled = await rig.settle(*late, lease=old)
    assert sorted(settled.refused) == sorted(o.task for o in late)
    assert settled.accepted == []
    assert await everything(rig) == before


async def test_late_outcomes_under_a_lease_that_holds_are_refused_too(rig: Rig) -> None:
    """The fence is the claim, not the lease alone: here the same worker claimed the task again."""
    await rig.job(pages(1))
    (first,) = await rig.claim()
    await rig.settle(outcome(first, Verdict.RETRY))
    await rig.hurry()
    await rig.promote()
    (second,) = await rig.claim()
    before = await everything(rig)
    assert (await rig.finish([first])).refused == [first.id]
    assert await everything(rig) == before
    assert (await rig.finish([second])).accepted == [second.id]


async def test_a_refusal_does_not_hinder_others_in_the_batch(rig: Rig) -> None:
    await rig.job(pages(2))
    mine, lost = await rig.claim()
    await rig.queue.hand_back(rig.lease, [lost.id])
    settled = await rig.finish([mine, lost])
    assert (settled.accepted, settled.refused) == ([mine.id], [lost.id])
    await rig.check()


async def test_an_outcome_of_another_lane_is_refused(rig: Rig) -> None:
    """A remote worker may send anything; the rest of its batch must not suffer."""
    await rig.job([page(0), page(1, site("b"))])
    one, two = sorted(await rig.claim(), key=lambda t: t.seq)
    wrong = Outcome(two.id, one.lane, two.claims, Verdict.SUCCEEDED)
    settled = await rig.settle(rig.done(one), wrong)
    assert (settled.accepted, settled.refused) == ([one.id], [two.id])
    nowhere = Outcome(two.id, 5, two.claims, Verdict.SUCCEEDED)
    assert (await rig.settle(nowhere)).refused == [two.id]
    await rig.check()


@pytest.mark.parametrize("lost", [False, True])
async def test_the_same_outcome_sent_twice_is_accepted_and_not_doubled(rig: Rig, lost: bool) -> None:
    """The answer was lost, not the work; meanwhile the lease may have run out."""
    job = await rig.job(pages(2))
    task = (await rig.claim())[0]
    sent = outcome(
        task,
        Verdict.SUCCEEDED,
        PageRow(0, task.url, "succeeded", 1),
        AddTasks(tuple(pages(2, first=5))),
        bytes_in=10,
    )
    assert (await rig.settle(sent)).accepted == [task.id]
    if lost:
        await rig.expire()
    before = await everything(rig)
    settled = await rig.settle(sent)
    assert (settled.accepted, settled.refused) == ([task.id], [])
    assert await everything(rig) == before
    found = await rig.get(job)
    assert (found.succeeded, found.bytes, found.total) == (1, 10, 4)


async def test_a_worker_stopped_in_the_middle_of_a_claim_leaves_nothing_behind(rig: Rig) -> None:
    """Its lease runs out and is swept while its transaction is open; when that ends, the tasks it
    took must not hang on a lease that nobody will ever sweep."""
    await rig.job(pages(3))
    if not rig.database.shared:
        pytest.skip("one process writes: a transaction cannot be overtaken")
    claimed, go = asyncio.Event(), asyncio.Event()

    async def slow_claim(conn: Conn) -> None:
        await claim(conn, rig.lease, 2)
        claimed.set()
        await go.wait()

    ends = await rig.now() + 100_000
    await rig.execute("UPDATE leases SET until = $1", ends)
    claiming = asyncio.create_task(rig.database.write(slow_claim))
    await claimed.wait()
    while await rig.now() <= ends:  # noqa: ASYNC110  # nothing signals the passing of time
        await asyncio.sleep(0.01)
    await rig.sweep()
    go.set()
    await claiming
    assert await rig.sweep() == 2
    rig.lease = await rig.open_lease()
    await rig.check()
    assert len(await rig.drain()) == 4


async def test_the_clocks_of_workers_do_not_matter(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker's clock is a day ahead, the other's a day behind."""
    from fyke.core import clock

    if not rig.database.shared:
        pytest.skip("the clock of an embedded database is that of its only process")
    real = clock.now
    job = await rig.job([*pages(4), *pages(2, site("slow", interval=50_000), first=10)])
    for offset in (24 * HOUR, -24 * HOUR):
        monkeypatch.setattr(clock, "now", lambda offset=offset: real() + offset)
        lease = await rig.open_lease()
        (task, *_) = await rig.claim(1, lease)
        await rig.queue.renew(lease)
        assert await rig.sweep() == 0, "nobody's lease has run out"
        await rig.settle(outcome(task, Verdict.RETRY, SlowLane(pause=1), delay=40_000_000), lease=lease)
        assert await rig.promote() == 0
        due = await rig.value("SELECT max(due) FROM delays")
        assert abs(due - (await rig.now() + 40_000_000)) < 10_000_000
        for waits in await rig.claim(1, lease):
            assert waits.wait <= 200_000
        await rig.queue.close_lease(lease)
    await rig.drain()
    assert (await rig.get(job)).state == "succeeded"


async def test_a_process_stopped_in_a_transaction_keeps_its_locks_for_seconds_only(rig: Rig) -> None:
    if not rig.database.shared:
        pytest.skip("an embedded database has one process")
    if rig.database.name == "postgres":
        milliseconds = await rig.value(
            "SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'"
        )
    else:
        milliseconds = 1000 * await rig.value("SELECT @@wait_timeout")
    assert 0 < milliseconds < 1000 * rig.queue.lease_seconds


async def test_work_whose_locks_were_taken_away_is_done_again(rig: Rig) -> None:
    """As when a worker was stopped in the middle of a claim, and goes on."""
    if not rig.database.shared:
        pytest.skip("an embedded database has one process")
    await rig.job(pages(1))
    tries = []
    soon = {
        "postgres": "SET LOCAL idle_in_transaction_session_timeout = 50",
        "mysql": "SET SESSION wait_timeout = 1",
    }

    async def work(conn: Conn) -> int:
        tries.append(1)
        if len(tries) == 1:
            await conn.execute(soon[rig.database.name])
            await claim(conn, rig.lease, 1)
            await asyncio.sleep(0.3 if rig.database.name == "postgres" else 1.5)
        return len((await claim(conn, rig.lease, 1)).tasks)

    assert await rig.database.write(work) == 1
    assert len(tries) == 2
    await rig.check()
