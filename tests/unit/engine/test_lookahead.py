"""How far ahead a worker claims."""

import asyncio

from fyke.core.outcome import Outcome
from fyke.core.task import Task
from fyke.engine.lookahead import WINDOW, Lookahead
from tests.unit.engine.scripted import ScriptedQueue, accepting, batch, done, turns, worker_on


def pace(per_second: float, *, most: int = 64) -> int:
    """Told of so many tasks a second for a second."""
    lookahead, now = Lookahead(most, 0.0), 0.0
    for _ in range(int(per_second)):
        now += 1 / per_second
        lookahead.ended()
        lookahead.look(now)
    return lookahead.tasks


def test_it_goes_as_far_as_the_pace_of_what_was_done() -> None:
    assert pace(10) == 0
    assert 9 <= pace(200) <= 10
    assert pace(50_000) == 64


def test_it_ends_when_nothing_ends_any_more() -> None:
    lookahead = Lookahead(64, 0.0)
    for _ in range(1000):
        lookahead.ended()
    assert lookahead.look(WINDOW) == 64
    assert lookahead.look(2 * WINDOW) == 0


async def test_a_worker_busy_with_slow_tasks_leaves_the_others_to_those_who_are_free() -> None:
    """Else what is urgent waits behind them, in a worker that cannot begin it."""
    goes_on = asyncio.Event()

    async def run(task: Task) -> Outcome:
        if task.id <= 4:
            await goes_on.wait()
        return done(task)

    queue = ScriptedQueue()
    queue.answers["settle"] = accepting
    worker = worker_on(queue, run, concurrency=4)
    await worker.start()
    claim = await queue.next("claim")
    assert claim.arguments[1] == 4
    claim.answer(batch(1, 2, 3, 4))
    await turns()
    assert queue.calls["claim"].empty()
    goes_on.set()
    claim = await queue.next("claim")
    assert claim.arguments[1] >= 1
    claim.answer(batch(5))
    await turns()
    await worker.stop()
