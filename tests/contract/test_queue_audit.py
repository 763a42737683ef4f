"""The audit: whatever counter is wrong, it is right after it; and it takes no large bite."""

import asyncio

import pytest

from fyke.core.outcome import Verdict
from fyke.store.queue import audit as audits
from fyke.store.queue.audit import audit
from tests.contract.rig import HOUR, Rig, outcome, page, pages, site


async def mixed(rig: Rig) -> int:
    """A job with tasks that are ready, delayed, leased, to run alone, and done."""
    job = await rig.job([*pages(6), *pages(6, site("b"), first=100)], max_concurrency=9)
    tasks = await rig.claim(3)
    await rig.die()
    more = await rig.claim(5)
    await rig.settle(outcome(more[0], Verdict.SUCCEEDED), outcome(more[1], Verdict.RETRY, delay=HOUR))
    assert len(tasks) == 3
    await rig.check()
    return job


async def test_nothing_is_corrected_where_nothing_is_wrong(rig: Rig) -> None:
    await mixed(rig)
    assert await rig.audit() == 0


async def test_every_counter_is_set_right(rig: Rig) -> None:
    job = await mixed(rig)
    for wrong in (
        "UPDATE queues SET queued = queued + 3",
        "UPDATE queues SET queued = 0, low = 1000",
        "UPDATE lanes SET queued = 7",
        "UPDATE lanes SET in_flight = 0",
        "UPDATE lanes SET queued = 0, waiting = 0",
        "UPDATE jobs SET in_flight = 9",
        "UPDATE jobs SET open = 1",
    ):
        await rig.execute(wrong)
        assert await rig.audit() > 0, wrong
        await rig.check()
        assert await rig.audit() == 0
    await rig.queue.close_lease(rig.lease)
    rig.lease = await rig.open_lease()
    await rig.drain()
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded) == ("succeeded", 12)


async def test_tasks_that_stand_in_no_queue_are_found(rig: Rig) -> None:
    job = await rig.job(pages(3))
    await rig.execute("DELETE FROM queues WHERE job = $1", job)
    assert await rig.claim() == []
    assert await rig.audit() > 0
    await rig.check()
    await rig.drain()
    assert (await rig.get(job)).succeeded == 3


async def test_a_job_stuck_at_its_cap_by_a_wrong_counter_goes_on(rig: Rig) -> None:
    job = await rig.job(pages(2), max_concurrency=1)
    await rig.execute("UPDATE jobs SET in_flight = 1")
    await rig.hurry()
    assert await rig.claim() == []
    assert await rig.audit() == 1
    await rig.drain()
    assert (await rig.get(job)).state == "succeeded"


async def test_it_counts_few_tasks_at_a_time(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes whose tasks are too many together are counted one after another."""
    for name in "abcde":
        await rig.job(pages(8, site(name)))
    monkeypatch.setattr(audits, "TASKS", 20)
    steps, after = 0, -1
    while steps == 0 or after >= 0:
        _, after = await rig.database.write(lambda conn, a=after: audit(conn, a))  # type: ignore[misc]  # bound default
        steps += 1
    assert steps >= 3
    await rig.check()


async def test_it_takes_nothing_from_those_who_work(rig: Rig) -> None:
    """Counted while tasks are claimed, settled and handed back, nothing is ever found wrong."""
    job = await rig.job([page(n, site(f"s{n % 4}")) for n in range(60)])
    found = []
    ended = asyncio.Event()

    async def look() -> None:
        while not ended.is_set():
            found.append(await rig.audit())

    async def work(number: int) -> None:
        lease = await rig.open_lease(str(number))
        while (await rig.get(job)).state != "succeeded":
            tasks = await rig.claim(4, lease)
            await rig.queue.hand_back(lease, [t.id for t in tasks[3:]])
            await rig.settle(*map(rig.done, tasks[:3]), lease=lease)

    looking = asyncio.create_task(look())
    await asyncio.gather(*(work(n) for n in range(3)))
    ended.set()
    await looking
    assert found
    assert set(found) == {0}
    await rig.check()
