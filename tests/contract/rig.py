"""A queue on a database to be worked by hand: jobs, leases, claims, outcomes, and the books compared."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from fyke.core.clock import SECOND
from fyke.core.ids import key16
from fyke.core.job import JobOptions
from fyke.core.outcome import Effect, EndJob, Outcome, PageRow, Settled, Source, SourceRead, Verdict
from fyke.core.task import Kind, LaneSpec, NewTask, Task, WorkerInfo
from fyke.store.conn import Conn, Database, Row
from fyke.store.jobs import Job, NewJob, cancel_job, create_job, get_job
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue, upkeep
from fyke.store.queue.activity import settle_activity
from fyke.store.queue.add import lane_of
from fyke.store.queue.audit import audit, audit_jobs
from fyke.store.resume_job import resume_job
from tests.contract.books import differences

__all__ = ["Rig", "outcome", "page", "pages", "site"]

HOUR = 3600 * SECOND


def site(name: str = "a", *, interval: int = 0, burst: int = 1, cap: int = 0) -> LaneSpec:
    """A lane; without a limit unless one is given."""
    return LaneSpec(f"{name}.test", interval, burst, cap)


def page(seq: int, lane: LaneSpec | None = None, **given: Any) -> NewTask:
    lane = lane or site()
    return NewTask(Kind.PAGE, seq, lane, **{"url": f"http://{lane.key}/{seq}", **given})


def pages(amount: int, lane: LaneSpec | None = None, *, first: int = 0) -> list[NewTask]:
    return [page(first + number, lane) for number in range(amount)]


def outcome(task: Task, verdict: str = Verdict.SUCCEEDED, *effects: Effect, **given: Any) -> Outcome:
    return Outcome(task.id, task.lane, task.claims, verdict, effects, **given)


class Rig:
    """The queue of one process. `lease` is that of its worker."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.database: Database = database_for(url, synchronous="OFF")
        self.queue = SqlQueue(self.database)
        self.lease = 0

    async def open(self) -> "Rig":
        await self.database.open()
        await self.connect()
        self.lease = await self.open_lease()
        return self

    async def connect(self) -> None:
        """Reach the queue, where it is elsewhere."""

    async def close(self) -> None:
        await self.database.close()

    async def open_lease(self, name: str = "worker") -> int:
        return await self.queue.open_lease(WorkerInfo(name, "here", 1))

    # --- jobs ---

    async def job(self, tasks: Sequence[NewTask] = (), sources: Sequence[Source] = (), **options: Any) -> int:
        """A job of these tasks, without a cap or a budget unless one is given."""
        free = JobOptions(max_urls=0, max_concurrency=0, traffic_budget_mb=0, residential_limit_mb=0)
        chosen = msgspec.structs.replace(free, **options)
        new = NewJob("list", "here", key16("here"), "a.test", chosen, tuple(tasks), tuple(sources))
        return await self.database.write(lambda conn: create_job(conn, new))

    async def get(self, job: int) -> Job:
        return await self.database.read(lambda conn: get_job(conn, job))

    async def cancel(self, job: int) -> Job:
        return await self.database.write(lambda conn: cancel_job(conn, job))

    async def resume(self, job: int, options: JobOptions | None = None) -> Job:
        found = await resume_job(self.database, job, lambda url: LaneSpec(url.split("/")[2]), options)
        await self.activity()
        return found

    # --- work ---

    async def claim(self, want: int = 100, lease: int | None = None) -> list[Task]:
        return (await self.queue.claim(lease or self.lease, want)).tasks

    async def claim_all(self, want: int = 100) -> list[Task]:
        """Claim until a claim gives nothing."""
        found: list[Task] = []
        while some := await self.claim(want):
            found += some
        return found

    async def claim_alone(self, lease: int | None = None) -> Task | None:
        found = (await self.queue.claim_suspect(lease or self.lease)).tasks
        return found[0] if found else None

    async def settle(self, *outcomes: Outcome, lease: int | None = None) -> Settled:
        return await self.queue.settle(lease or self.lease, outcomes)

    async def finish(self, tasks: Iterable[Task], verdict: str = Verdict.SUCCEEDED) -> Settled:
        """Settle tasks with what their kind brings."""
        return await self.settle(*(self.done(task, verdict) for task in tasks))

    def done(self, task: Task, verdict: str = Verdict.SUCCEEDED) -> Outcome:
        if task.kind == Kind.FINISH:
            return outcome(task, verdict, EndJob(msgspec.json.decode(task.payload)["job"]))
        if task.kind == Kind.PLAN:
            given = msgspec.json.decode(task.payload)
            return outcome(task, verdict, SourceRead(given["number"], 0, given["first_seq"], True))
        return outcome(task, verdict, PageRow(task.seq, task.url, verdict, 1, title=f"page {task.seq}"))

    async def drain(self) -> list[Task]:
        """Work everything off; the tasks in the order they came."""
        worked: list[Task] = []
        while True:
            await self.hurry()
            while await self.promote():
                pass
            alone = await self.claim_alone()
            tasks = [alone] if alone else await self.claim()
            if not tasks and not await self.activity() and not await self.ends():
                return worked
            await self.finish(tasks)
            worked += tasks

    # --- upkeep ---

    async def sweep(self) -> int:
        return await self.database.write(upkeep.sweep)

    async def promote(self) -> int:
        return await self.database.write(upkeep.promote)

    async def activity(self) -> int:
        return await self.database.write(settle_activity)

    async def ends(self) -> int:
        return await self.database.write(upkeep.end_stopped)

    async def audit(self) -> int:
        """How many counters a whole audit corrects."""
        total = 0
        for step in (audit, audit_jobs):
            after: int | None = None
            while after is None or after >= 0:
                work = partial(step, after=-1 if after is None else after)
                corrected, after = await self.database.write(work)
                total += corrected
        return total

    # --- time passes ---

    async def expire(self, lease: int | None = None) -> None:
        """The lease has run out a second ago."""
        now = await self.now()
        await self.execute("UPDATE leases SET until = $2 WHERE id = $1", lease or self.lease, now - SECOND)

    async def die(self, lease: int | None = None) -> int:
        """The worker is gone, its lease has run out, and the sweep has come by."""
        await self.expire(lease)
        taken = await self.sweep()
        if lease is None:
            self.lease = await self.open_lease()
        return taken

    async def hurry(self) -> None:
        """All that waits for a time has waited long enough: slots, pauses, parked lanes, delays."""
        await self.execute("UPDATE lanes SET next_slot = 0, look_at = 0")
        await self.execute("UPDATE delays SET due = 0")
        await self.execute("UPDATE suspects SET due = 0")

    # --- SQL ---

    async def now(self) -> int:
        return await self.database.read(lambda conn: conn.now())

    async def rows(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        async def work(conn: Conn) -> Sequence[Row]:
            return await conn.fetch(sql, *args)

        return [tuple(row) for row in await self.database.read(work)]

    async def value(self, sql: str, *args: Any) -> Any:
        return (await self.rows(sql, *args))[0][0]

    async def execute(self, sql: str, *args: Any) -> int:
        return await self.database.write(lambda conn: conn.execute(sql, *args))

    async def lane(self, spec: LaneSpec, column: str) -> Any:
        return await self.value(f"SELECT {column} FROM lanes WHERE id = $1", lane_of(spec))

    async def check(self) -> None:
        """Every counter equals the rows it counts."""
        wrong = await self.database.read(differences)
        assert not wrong, "\n".join(wrong)
