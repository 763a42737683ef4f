"""The settler and a queue that does not take everything at once."""

import asyncio

import pytest

from fyke.core.outcome import Outcome
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
