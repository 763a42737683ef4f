"""The worker between its tasks and a queue that answers as it should not."""

from msgspec import structs

from fyke.core.clock import SECOND
from fyke.core.outcome import EndJob, Outcome, Verdict
from fyke.core.task import Task
from tests.unit.engine.scripted import ScriptedQueue, batch, worker_on


async def test_an_outcome_that_came_late_says_so_and_is_the_same_otherwise() -> None:
    whole = Outcome(1, 1, 1, Verdict.RETRY, (EndJob(7),), 10, 20, 30, 0, b"payload", "timeout")
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
