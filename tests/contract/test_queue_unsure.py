"""A connection that breaks at a commit leaves open whether it has happened: the call is made again."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from fyke.core.errors import LeaseLost, StoreBusy
from fyke.core.task import Batch, Task
from fyke.store.conn import Conn, Database
from tests.contract.rig import Rig, pages

T = TypeVar("T")


class Unlucky:
    """A database whose answer to the next commits is lost: the work is done, and then run again, as a
    database does by itself, or the call fails."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.shared = database.shared
        self.lost = 0
        self.gives_up = False

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        while self.lost:
            self.lost -= 1
            await self.database.write(work)
            if self.gives_up:
                raise StoreBusy
        return await self.database.write(work)


@pytest.fixture
def unlucky(rig: Rig) -> Unlucky:
    made = Unlucky(rig.database)
    rig.queue.database = made  # type: ignore[assignment]  # as much of a database as the queue uses
    return made


async def leased(rig: Rig) -> list[int]:
    return [row[0] for row in await rig.rows("SELECT id FROM tasks WHERE state = 2 ORDER BY id")]


def ids(tasks: list[Task]) -> list[int]:
    return sorted(task.id for task in tasks)


async def test_a_claim_made_again_leaves_nothing_on_the_lease_that_its_worker_has_not(
    rig: Rig, unlucky: Unlucky
) -> None:
    await rig.job(pages(9))
    unlucky.lost = 2
    tasks = await rig.claim(3)
    assert ids(tasks) == await leased(rig)
    assert [task.seq for task in tasks] == [0, 1, 2]
    await rig.finish(tasks)
    await rig.check()


async def test_a_claim_that_failed_is_given_back_by_the_next(rig: Rig, unlucky: Unlucky) -> None:
    await rig.job(pages(9))
    held = await rig.claim(2)
    unlucky.lost, unlucky.gives_up = 1, True
    with pytest.raises(StoreBusy):
        await rig.claim(3)
    assert len(await leased(rig)) == 5
    tasks = await rig.claim(4)
    assert ids(held + tasks) == await leased(rig), "and what was held before is held still"
    await rig.check()


async def test_a_suspect_claimed_again_still_runs_alone_and_has_no_strike(rig: Rig, unlucky: Unlucky) -> None:
    await rig.job(pages(2))
    await rig.claim()
    await rig.die()
    unlucky.lost = 1
    task = await rig.claim_alone()
    assert task is not None
    assert [task.id] == await leased(rig)
    await rig.check()
    await rig.die()
    assert sorted(await rig.rows("SELECT strikes FROM tasks")) == [(0,), (1,)]


async def test_nothing_is_given_back_under_a_lease_that_is_lost(rig: Rig, unlucky: Unlucky) -> None:
    await rig.job(pages(4))
    unlucky.lost, unlucky.gives_up = 1, True
    with pytest.raises(StoreBusy):
        await rig.claim(2)
    lost = rig.lease
    await rig.die()
    with pytest.raises(LeaseLost):
        await rig.claim(2, lost)
    assert await rig.value("SELECT count(*) FROM suspects") == 2
    await rig.check()


async def test_a_lease_opened_again_is_one(rig: Rig, unlucky: Unlucky) -> None:
    unlucky.lost = 1
    lease = await rig.open_lease("twice")
    assert await rig.rows("SELECT id FROM leases WHERE worker = 'twice'") == [(lease,)]
    assert isinstance(await rig.queue.claim(lease, 1), Batch)
