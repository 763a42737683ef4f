"""The settler and a queue that does not take everything at once."""

import asyncio

import pytest

from fyke.core.errors import StoreBusy
from fyke.core.outcome import Outcome, Settled, Verdict
from fyke.core.task import Task
from tests.unit.engine.scripted import SOON, ScriptedQueue, batch, done, turns, worker_on


async def finish(task: Task) -> Outcome:
    return done(task)


async def test_stopping_waits_for_what_is_settled_and_does_not_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = ScriptedQueue()
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1))
    settling = await queue.next("settle")
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio, "sleep", sleep)
    stopping = asyncio.create_task(worker.stop())
    await turns()
    assert not stopping.done()
    settling.accept()
    async with asyncio.timeout(SOON):
        await stopping
    assert slept == []


async def test_a_task_claimed_again_before_its_return_was_answered_keeps_its_new_claim() -> None:
    """It goes back, the answer is lost, the same worker claims it anew, and sends the old outcome again."""
    begun, gate = asyncio.Event(), asyncio.Event()

    async def run(task: Task) -> Outcome:
        if task.claims == 1:
            return Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE)
        begun.set()
        await gate.wait()
        return done(task)

    queue = ScriptedQueue()
    worker = worker_on(queue, run)
    await worker.start()
    (await queue.next("claim")).answer(batch(1))
    claim, settling = await queue.next("claim"), await queue.next("settle")
    settling.fail(StoreBusy())
    claim.answer(batch(1, claims=2))
    await begun.wait()
    settling = await queue.next("settle")
    assert [(o.task, o.claims) for o in settling.outcomes] == [(1, 1)]
    gate.set()
    await turns()  # the second outcome is there, and not sent
    settling.answer(Settled([], [1]))
    settling = await queue.next("settle")
    assert [(o.task, o.claims, o.verdict) for o in settling.outcomes] == [(1, 2, Verdict.SUCCEEDED)]
    settling.accept()
    await turns()
    assert worker.held == {}
    await worker.stop()


async def test_a_task_claimed_again_is_held_when_its_old_outcome_has_been_answered() -> None:
    begun, gate = asyncio.Event(), asyncio.Event()

    async def run(task: Task) -> Outcome:
        if task.claims == 1:
            return Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE)
        begun.set()
        await gate.wait()
        return done(task)

    queue = ScriptedQueue()
    worker = worker_on(queue, run)
    await worker.start()
    (await queue.next("claim")).answer(batch(1))
    claim, settling = await queue.next("claim"), await queue.next("settle")
    claim.answer(batch(1, claims=2))
    await begun.wait()
    settling.accept()
    await turns()
    assert [held.task.claims for held in worker.held.values()] == [2]
    gate.set()
    settling = await queue.next("settle")
    assert [(o.task, o.claims) for o in settling.outcomes] == [(1, 2)]
    settling.accept()
    await worker.stop()
