"""Failed pages run again: at their places, as what they were."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from fyke.core.outcome import Outcome, PageRow, Verdict
from fyke.core.retry import RetryPolicy
from fyke.core.task import Task
from fyke.engine.failure import outcome_of
from fyke.store.conn import Conn, Row
from fyke.store.queue.activity import settle_activity
from fyke.store.retry_job import retry_job
from tests.contract.rig import Rig, outcome, page, pages, site


def answered(task: Task) -> Outcome:
    """As the handler of pages ends a task for good."""
    row = PageRow(task.seq, task.url, Verdict.FAILED, 1, error_class="dns", payload=task.payload or None)
    return outcome(task, Verdict.FAILED, row)


def raised(task: Task) -> Outcome:
    return outcome_of(ValueError(), task, RetryPolicy(attempts=1), 0.5)


async def retry(rig: Rig, job: int) -> int:
    return await retry_job(rig.database, job, lambda _: site())


DEPTHS = {0: b'{"follow":0}', 1: b'{"follow":10}', 2: b""}


@pytest.mark.parametrize("end", [answered, raised, None])
async def test_a_page_that_runs_again_carries_what_it_carried(
    rig: Rig, end: Callable[[Task], Outcome] | None
) -> None:
    """One whose links are followed lies as deep as it did, however it failed. None: by killing workers."""
    job = await rig.job([page(seq, payload=payload) for seq, payload in DEPTHS.items()])
    if end is None:
        await rig.claim()
        await rig.die()
        for _ in range(9):
            await rig.hurry()
            assert await rig.claim_alone() is not None
            await rig.die()
    else:
        await rig.settle(*map(end, await rig.claim()))
    await rig.drain()
    assert (await rig.get(job)).failed == 3
    for _ in range(2):
        assert await retry(rig, job) == 3
        await rig.activity()
        await rig.hurry()
        tasks = await rig.claim()
        assert {task.seq: task.payload for task in tasks} == DEPTHS
        await rig.settle(*map(answered, tasks))
        await rig.drain()
    assert await retry(rig, job) == 3
    await rig.drain()
    assert (await rig.get(job)).state == "succeeded"
    assert await rig.rows("SELECT DISTINCT payload FROM pages") == [(None,)], "kept of failures alone"


async def test_tasks_that_are_set_aside_free_their_keys(rig: Rig) -> None:
    keyed = [page(seq, dedupe=bytes([seq]) * 16) for seq in range(3)]
    await rig.job([*keyed, *pages(1, first=3)])
    await rig.claim()
    await rig.die()
    for _ in range(12):
        await rig.hurry()
        assert await rig.claim_alone() is not None
        await rig.die()
    assert await rig.value("SELECT count(*) FROM dedupe_keys WHERE task <> 0") == 1, "of the last task"
    assert await rig.rows("SELECT state, error_class, url FROM pages ORDER BY seq") == [
        ("quarantined", "worker_killed", f"http://a.test/{seq}") for seq in range(4)
    ]
    await rig.check()


class Late:
    """A connection that is a moment slow when it comes to lock lanes."""

    def __init__(self, conn: Conn, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.conn = conn
        self.meanwhile: Callable[[], Awaitable[object]] | None = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self.conn, name)

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
        if "FROM lanes" in sql and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return await self.conn.fetch(sql, *args)


async def test_one_that_comes_while_upkeep_clears_up_after_the_job_keeps_its_tasks(rig: Rig) -> None:
    if not rig.database.shared:
        pytest.skip("where one process writes, nothing comes in between")
    job = await rig.job(pages(3))
    await rig.settle(*map(answered, await rig.claim()))
    await rig.finish(await rig.claim())
    await rig.database.write(lambda conn: settle_activity(Late(conn, lambda: retry(rig, job))))
    await rig.drain()
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded) == ("succeeded", 3)
