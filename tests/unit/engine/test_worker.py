"""The worker between its tasks and a queue that answers as it should not."""

import asyncio

import pytest
from msgspec import structs

from fyke.core.clock import SECOND
from fyke.core.errors import DiskFull, LeaseLost, StoreBusy
from fyke.core.outcome import EndJob, Outcome, Verdict
from fyke.core.task import LaneSpec, Task
from tests.unit.engine.scripted import SOON, ScriptedQueue, accepting, batch, done, failing, turns, worker_on


async def test_an_outcome_that_came_late_says_so_and_is_the_same_otherwise() -> None:
    whole = Outcome(1, 1, 1, Verdict.RETRY, (EndJob(7),), 10, 20, 30, 0, b"payload", "timeout", LaneSpec("x"))
    assert all(getattr(whole, name) for name in whole.__struct_fields__ if name != "late")

    async def run(task: Task) -> Outcome:
        return whole

    queue = ScriptedQueue()
    worker = worker_on(queue, run)
    await worker.start()
    claimed = batch(1)
    slot = structs.replace(claimed.tasks[0], wait=-2 * SECOND, interval=10 * SECOND)
    (await queue.next("claim")).answer(structs.replace(claimed, tasks=[slot]))
    settling = await queue.next("settle")
    (outcome,) = settling.outcomes
    assert outcome.late >= 2 * SECOND
    assert structs.replace(outcome, late=0) == whole
    settling.accept()
    await worker.stop()


async def test_runners_dropped_before_their_first_step_leave_room_for_others() -> None:
    """A coroutine that is cancelled before it has begun runs no line of its own."""

    async def run(task: Task) -> Outcome:
        return done(task)

    queue = ScriptedQueue()
    worker = worker_on(queue, run, concurrency=2)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2, 3))
    asyncio.get_running_loop().call_soon(worker.abandon)  # after the claimer's step, before the runners'
    claim = await queue.next("claim")
    assert claim.arguments[1] == 2  # both places
    await turns()
    assert worker.running == 0
    claim.answer(batch(4, 5, 6))
    settled: set[int] = set()
    while len(settled) < 3:
        settling = await queue.next("settle")
        settled |= {outcome.task for outcome in settling.outcomes}
        settling.accept()
    assert settled == {4, 5, 6}
    await turns()
    assert worker.running == 0
    await worker.stop()


async def test_a_runner_dropped_while_it_runs_gives_its_place_back_once() -> None:
    begun: asyncio.Queue[int] = asyncio.Queue()
    ended: asyncio.Queue[int] = asyncio.Queue()

    async def run(task: Task) -> Outcome:
        begun.put_nowait(task.id)
        try:
            await asyncio.Event().wait()
        finally:
            ended.put_nowait(task.id)
        return done(task)

    queue = ScriptedQueue()
    queue.answers["settle"] = failing(LeaseLost())
    worker = worker_on(queue, run, concurrency=2, grace=0.0)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2, 3))
    assert {await begun.get(), await begun.get()} == {1, 2}
    worker.abandon()
    assert {await ended.get(), await ended.get()} == {1, 2}
    await turns()
    assert worker.running == 0
    (await queue.next("claim")).answer(batch(4, 5, 6))
    assert {await begun.get(), await begun.get()} == {4, 5}
    await turns()
    assert worker.running == 2
    assert begun.empty()
    await worker.stop()
    assert worker.running == 0


@pytest.mark.parametrize("error", [StoreBusy(), LeaseLost(), OSError("cut")], ids=lambda e: type(e).__name__)
async def test_stopping_completes_when_nothing_can_be_handed_back(error: Exception) -> None:
    begun: asyncio.Queue[int] = asyncio.Queue()
    ended: asyncio.Queue[int] = asyncio.Queue()

    async def run(task: Task) -> Outcome:
        begun.put_nowait(task.id)
        try:
            await asyncio.Event().wait()
        finally:
            ended.put_nowait(task.id)
        return done(task)

    queue = ScriptedQueue()
    queue.answers |= {"settle": accepting, "hand_back": failing(error), "close_lease": failing(error)}
    worker = worker_on(queue, run, concurrency=1, grace=0.0)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2))
    assert await begun.get() == 1
    async with asyncio.timeout(SOON):
        await worker.stop()
        await worker.stop()
    assert (await queue.next("hand_back")).arguments == (1, [2])
    assert await ended.get() == 1
    assert [(o.task, o.verdict) for o in (await queue.next("settle")).outcomes] == [(1, Verdict.REQUEUE)]
    await queue.next("close_lease")
    assert queue.calls["close_lease"].empty()
    loops = [task.get_name() for task in asyncio.all_tasks()]
    assert not {"claim", "settle", "renew"} & set(loops)
    assert begun.empty()


async def test_a_worker_that_was_stopped_can_be_started_again() -> None:
    begun: asyncio.Queue[int] = asyncio.Queue()

    async def run(task: Task) -> Outcome:
        begun.put_nowait(task.id)
        return done(task)

    queue = ScriptedQueue()
    queue.answers["settle"] = accepting
    worker = worker_on(queue, run, concurrency=1)
    await worker.start()
    await queue.next("claim")
    await worker.stop()
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2))
    async with asyncio.timeout(SOON):
        assert [await begun.get(), await begun.get()] == [1, 2]
    await worker.stop()


async def finish(task: Task) -> Outcome:
    return done(task)


async def test_the_problem_is_over_when_the_lease_was_lost_with_all_that_could_not_be_written() -> None:
    queue = ScriptedQueue()
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1))
    claim = await queue.next("claim")
    (await queue.next("settle")).fail(DiskFull())
    await turns()
    assert isinstance(worker.problem, DiskFull)
    claim.fail(LeaseLost())
    assert (await queue.next("claim")).arguments[0] == 2
    assert worker.problem is None
    await worker.stop()


async def test_what_failed_under_a_lease_of_before_is_no_problem_of_the_new_one() -> None:
    queue = ScriptedQueue()
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1))
    claim, settling = await queue.next("claim"), await queue.next("settle")
    claim.fail(LeaseLost())
    claim = await queue.next("claim")
    settling.fail(StoreBusy())
    await turns()
    claim.answer(batch())
    assert (await queue.next("claim")).arguments[0] == 2
    assert worker.problem is None
    await worker.stop()


async def test_a_lease_that_cannot_be_opened_is_asked_for_again() -> None:
    queue = ScriptedQueue()
    worker = worker_on(queue, finish)
    await worker.start()
    del queue.answers["open_lease"]
    assert (await queue.next("open_lease")).arguments == (worker.options.info,)
    (await queue.next("claim")).fail(LeaseLost())
    (await queue.next("open_lease")).fail(OSError("no way there"))
    claim = await queue.next("claim")
    assert claim.arguments[0] == 1
    claim.fail(LeaseLost())
    (await queue.next("open_lease")).answer(9)
    assert (await queue.next("claim")).arguments[0] == 9
    await worker.stop()


async def test_a_task_that_was_refused_while_it_ran_leaves_room() -> None:
    """Nothing of it is settled, so the claimer hears of it here: it waits for the worker to hold nothing."""
    gate = asyncio.Event()

    async def run(task: Task) -> Outcome:
        await gate.wait()
        raise LeaseLost

    queue = ScriptedQueue()
    worker = worker_on(queue, run)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, suspects=True))
    await turns()
    gate.set()
    await queue.next("claim_suspect")
    await worker.stop()


async def test_a_disk_that_is_full_at_a_claim_is_the_workers_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is left to settle, nothing else says why a job stands still."""
    monkeypatch.setattr("fyke.engine.worker.random.random", lambda: -0.49)

    async def run(task: Task) -> Outcome:
        return done(task)

    queue = ScriptedQueue()
    worker = worker_on(queue, run)
    await worker.start()
    full = DiskFull()
    (await queue.next("claim")).fail(full)
    claim = await queue.next("claim")
    assert worker.problem is full
    claim.fail(StoreBusy())
    claim = await queue.next("claim")
    assert worker.problem is full
    claim.answer(batch(1))
    (await queue.next("settle")).accept()
    assert worker.problem is None
    (await queue.next("claim")).fail(StoreBusy())
    claim = await queue.next("claim")
    assert worker.problem is None
    queue.answers["open_lease"] = failing(full)
    claim.fail(LeaseLost())
    await turns()
    assert worker.problem is full
    del queue.answers["open_lease"]
    await worker.stop()
