"""The settler and a queue that does not take everything at once."""

import asyncio
from collections.abc import Callable, Sequence

import pytest
from structlog.testing import capture_logs

from fyke.core.errors import StoreBusy, StoreError
from fyke.core.outcome import Outcome, Settled, Verdict
from fyke.core.task import Task
from fyke.engine.settling import FLUSHED
from tests.unit.engine.scripted import SOON, ScriptedQueue, accepting, batch, done, failing, turns, worker_on


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
    async with asyncio.timeout(FLUSHED / 2):
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


DEADLY = 2


def refusing(refused: Callable[[Outcome], bool]) -> Callable[[int, Sequence[Outcome]], Settled]:
    """A store that fails over a batch when it cannot write one of it."""

    def settle(lease: int, outcomes: Sequence[Outcome]) -> Settled:
        if any(outcome.task == DEADLY and refused(outcome) for outcome in outcomes):
            raise StoreError("surrogates not allowed")
        return accepting(lease, outcomes)

    return settle


async def settled_by(queue: ScriptedQueue, tasks: set[int]) -> dict[int, Outcome]:
    """What was accepted of these tasks, once that is something of each."""
    found: dict[int, Outcome] = {}
    async with asyncio.timeout(SOON):
        while not tasks <= set(found):
            call = await queue.next("settle")
            try:
                accepted = queue.answers["settle"](*call.arguments).accepted
            except StoreError:
                continue
            found |= {outcome.task: outcome for outcome in call.outcomes if outcome.task in accepted}
    return found


async def test_an_outcome_that_cannot_be_written_fails_its_task_and_no_other() -> None:
    queue = ScriptedQueue()
    queue.answers["settle"] = refusing(lambda outcome: outcome.verdict == Verdict.SUCCEEDED)
    worker = worker_on(queue, finish)
    await worker.start()
    with capture_logs() as logs:
        (await queue.next("claim")).answer(batch(1, 2, 3))
        found = await settled_by(queue, {1, 2, 3})
    assert {task: outcome.verdict for task, outcome in found.items()} == {
        1: Verdict.SUCCEEDED,
        2: Verdict.RETRY,
        3: Verdict.SUCCEEDED,
    }
    assert found[2].error_class == "internal"
    (entry,) = [entry for entry in logs if entry["event"] == "outcome_not_written"]
    assert (entry["log_level"], entry["task"], entry["error"]) == ("error", 2, "StoreError")
    await turns()
    assert worker.problem is None
    assert worker.held == {}
    (await queue.next("claim")).answer(batch(4, 5))
    assert set(await settled_by(queue, {4, 5})) == {4, 5}
    await worker.stop()


async def test_a_task_whose_failure_cannot_be_written_either_is_put_off() -> None:
    queue = ScriptedQueue()
    queue.answers["settle"] = refusing(lambda outcome: outcome.verdict != Verdict.REQUEUE)
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2, 3))
    found = await settled_by(queue, {1, 2, 3})
    assert found[2].verdict == Verdict.REQUEUE
    assert found[2].delay > 0
    await worker.stop()


async def test_a_task_of_which_nothing_can_be_written_keeps_no_other_waiting() -> None:
    queue = ScriptedQueue()
    queue.answers["settle"] = refusing(lambda outcome: True)
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(2, 1, 3))
    await settled_by(queue, {1, 3})
    await turns()
    assert worker.held == {}
    assert worker.problem is None
    await worker.stop()


async def test_no_outcome_is_given_up_while_the_database_writes_nothing_at_all() -> None:
    queue = ScriptedQueue()
    queue.answers |= {"settle": failing(StoreError("away")), "renew": failing(StoreError("away"))}
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2, 3))
    await queue.next("renew")  # it was asked whether it writes
    await turns()
    assert isinstance(worker.problem, StoreError)
    queue.answers["settle"] = accepting
    queue.calls.pop("settle")
    found = await settled_by(queue, {1, 2, 3})
    assert {outcome.verdict for outcome in found.values()} == {Verdict.SUCCEEDED}
    await worker.stop()


async def test_a_busy_database_says_nothing_against_an_outcome() -> None:
    queue = ScriptedQueue()
    worker = worker_on(queue, finish)
    await worker.start()
    (await queue.next("claim")).answer(batch(1, 2, 3))
    for _ in range(8):
        settling = await queue.next("settle")
        assert {outcome.task for outcome in settling.outcomes} == {1, 2, 3}
        settling.fail(StoreBusy())
    settling = await queue.next("settle")
    assert {outcome.verdict for outcome in settling.outcomes} == {Verdict.SUCCEEDED}
    settling.accept()
    await worker.stop()
