"""The order of locks, lanes before jobs: it is the same for all, so no two wait for each other."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from fyke.core.outcome import AddTasks, Source, SourceRead, Verdict
from fyke.core.task import Kind, Task
from fyke.store.conn import Conn, Row
from fyke.store.queue.settle import settle
from fyke.store.resume_job import resume_step
from fyke.store.retry_job import retry_pages
from tests.contract.rig import Rig, outcome, page, pages, site


class Witness:
    """A connection that notes which tables' rows are locked, lanes only when they are not held already."""

    def __init__(self, conn: Conn) -> None:
        self.conn = conn
        self.locked: list[str] = []
        self.lanes: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.conn, name)

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
        found = await self.conn.fetch(sql, *args)
        if found and ("{lock}" in sql or "{skip}" in sql):
            (table,) = re.findall(r"\bFROM (\w+)", sql)[-1:]
            if table != "lanes" or not self.lanes >= {row[0] for row in found}:
                self.locked.append(table)
            if table == "lanes":
                self.lanes |= {row[0] for row in found}
        return found


async def locks(rig: Rig, work: Callable[[Conn], Awaitable[object]]) -> list[str]:
    """What a transaction locks of lanes and jobs, in its order."""

    async def watched(conn: Conn) -> list[str]:
        witness = Witness(conn)
        await work(witness)
        return [table for table in witness.locked if table in ("lanes", "jobs")]

    return await rig.database.write(watched)


def in_order(found: list[str]) -> bool:
    return "jobs" in found and "lanes" in found and found == sorted(found, reverse=True)


def sitemap(name: str, lane: str) -> Source:
    return Source("sitemap", f"http://{lane}.test/{name}", site(lane))


async def plan_of(rig: Rig) -> Task:
    await rig.hurry()
    (plan,) = [task for task in await rig.claim(1) if task.kind == Kind.PLAN]
    return plan


async def test_the_next_source_is_begun_with_its_lane_locked_before_the_job(rig: Rig) -> None:
    await rig.job(pages(1, site("b")))
    await rig.finish(await rig.claim())
    await rig.drain()
    await rig.job(sources=[sitemap("one", "a"), sitemap("two", "b")])
    plan = await plan_of(rig)
    read = SourceRead(msgspec.json.decode(plan.payload)["number"], 1, 1, True)
    done = outcome(plan, Verdict.SUCCEEDED, AddTasks((page(0, site("a")),)), read)
    assert in_order(await locks(rig, lambda conn: settle(conn, rig.lease, [done])))
    await rig.check()


async def test_a_job_is_resumed_with_the_lane_of_its_plan_locked_first(rig: Rig) -> None:
    job = await rig.job(sources=[sitemap("one", "a")])
    await rig.settle(outcome(await plan_of(rig), Verdict.SUCCEEDED))  # not read to its end
    await rig.drain()
    assert in_order(await locks(rig, lambda conn: resume_step(conn, job)))
    await rig.check()


async def test_a_retry_that_resumes_a_plan_locks_its_lane_first(rig: Rig) -> None:
    job = await rig.job(sources=[sitemap("one", "a")])
    plan = await plan_of(rig)
    await rig.settle(outcome(plan, Verdict.SUCCEEDED, AddTasks((page(0, site("b")),))))
    await rig.finish(await rig.claim(), Verdict.FAILED)
    await rig.drain()
    again = [page(0, site("b"))]
    assert in_order(await locks(rig, lambda conn: retry_pages(conn, job, again)))


async def test_a_batch_locks_the_jobs_it_adds_to_in_the_order_of_their_ids(rig: Rig) -> None:
    """Whatever the order of its tasks."""
    first = await rig.job([page(9)])
    second = await rig.job([page(1)])
    tasks = await rig.claim()
    locked: list[int] = []

    async def work(conn: Conn) -> None:
        class Noting(Witness):
            async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
                if "FROM jobs" in sql and "{lock}" in sql and not isinstance(args[0], list):
                    locked.append(args[0])
                return await self.conn.fetch(sql, *args)

        found = [
            outcome(t, Verdict.SUCCEEDED, AddTasks((page(20, url=f"http://a.test/{t.seq}x"),))) for t in tasks
        ]
        await settle(Noting(conn), rig.lease, found)

    await rig.database.write(work)
    assert locked == [first, second]
    await rig.check()
