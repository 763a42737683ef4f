"""Settling: what is done is sent as soon as the previous sending has returned, so batches grow with the
load. Few outcomes wait for nothing. Of many, while more are on their way, as many again are awaited for as
long as the last sending took: a commit costs the same for twice as many, and the CPU that it takes is that of
the tasks.

What cannot be written is kept until it can be, or its lease is lost. Mostly that is the database's doing. But
an outcome may hold what no database takes, and it would keep all others waiting for ever. So when a batch
fails again and again for no reason that passes, its outcomes are sent one by one, and one that fails alone
becomes a failure of its task.
"""

import asyncio
import contextlib
import random

import structlog
from msgspec import Struct

from fyke.core.clock import SECOND, monotonic
from fyke.core.errors import DiskFull, LeaseLost, StoreBusy, StoreError
from fyke.core.outcome import Outcome, Settled, Verdict
from fyke.core.queue import Queue
from fyke.core.retry import RetryPolicy
from fyke.core.task import JobInfo, Task
from fyke.engine.failure import outcome_of
from fyke.engine.metrics import EngineMetrics

__all__ = ["Held", "Settler"]

log = structlog.get_logger("fyke.worker")

MOST_SETTLED = 400
MANY = 16  # outcomes, or tasks that run, that are worth waiting for
LONGEST_WAIT = 0.03
PATIENCE = 5  # failures of a batch until its outcomes are sent one by one
REST = 60 * SECOND  # for a task of which not even a failure can be written
FLUSHED = 10.0  # seconds that a worker which stops waits for its outcomes to be settled


class Held(Struct):
    """A task this worker holds."""

    task: Task
    job: JobInfo
    received: float
    lease: int
    runner: "asyncio.Task[None] | None" = None
    started: float = 0.0
    overdue: bool = False


class Settler:
    """See the module. `held` is the worker's, by task; `room` is set when there may be room for more."""

    def __init__(
        self,
        queue: Queue,
        held: dict[int, Held],
        retry: RetryPolicy,
        metrics: EngineMetrics,
        room: asyncio.Event,
    ) -> None:
        self.queue = queue
        self.held = held
        self.retry = retry
        self.metrics = metrics
        self.room = room
        self.outcomes: list[tuple[int, Outcome]] = []
        self.problem: StoreError | None = None
        self._failures = 0
        self._singly = 0  # so many outcomes are sent one by one
        self._done = asyncio.Event()
        self._empty = asyncio.Event()  # no outcomes are left

    def add(self, lease: int, outcome: Outcome) -> None:
        self.outcomes.append((lease, outcome))
        self._done.set()

    def drop(self, leases: set[int]) -> None:
        self.outcomes = [(lease, outcome) for lease, outcome in self.outcomes if lease not in leases]

    async def flush(self) -> None:
        """Wait until what is done has been settled, but not for ever."""
        if self.outcomes:
            self._empty.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FLUSHED):
                    await self._empty.wait()

    async def run(self) -> None:
        while True:
            await self._done.wait()
            self._done.clear()
            while self.outcomes:
                began, waiting = monotonic(), len(self.outcomes)
                await self._settle_some()
                if waiting >= MANY and len(self.held) - len(self.outcomes) >= MANY:
                    await asyncio.sleep(min(LONGEST_WAIT, monotonic() - began))
            self._empty.set()

    async def _settle_some(self) -> None:
        lease = self.outcomes[0][0]
        most = 1 if self._singly else MOST_SETTLED
        some = [o for held_under, o in self.outcomes[:most] if held_under == lease]
        written, settled = some, None
        try:
            written, settled = await self._send(lease, some)
        except LeaseLost:
            pass
        except Exception as error:  # a worker that stopped settling would keep what it holds for ever
            if self.outcomes and self.outcomes[0][1] is some[0]:  # else its lease is lost, and it with that
                await self._trouble(error)
            return
        self.recovered()
        self._singly = max(0, self._singly - 1)
        sent = {id(outcome) for outcome in some}  # not its task: that may have been claimed again
        self.outcomes = [(u, o) for u, o in self.outcomes if id(o) not in sent]
        kinds = [self._let_go(outcome) for outcome in some]
        self.metrics.settled(zip(kinds, written, strict=True))
        refused = len(some) if settled is None else len(settled.refused)
        if refused:
            self.metrics.came_late(refused)
            log.warning("late_outcomes_dropped", count=refused)
        self.room.set()

    async def _send(self, lease: int, some: list[Outcome]) -> tuple[list[Outcome], Settled]:
        """Settle; what was written in the end, and the answer."""
        try:
            return some, await self.queue.settle(lease, some)
        except (LeaseLost, StoreBusy, DiskFull):
            raise
        except Exception as error:  # of the database, or of what is in an outcome
            if not self._singly:
                self._failures += 1
                if self._failures >= PATIENCE:
                    self._singly = len(some)
                raise
            await self.queue.renew(lease)  # raises when it is the database after all
            return await self._send_instead(lease, some[0], error)

    async def _send_instead(
        self, lease: int, outcome: Outcome, error: Exception
    ) -> tuple[list[Outcome], Settled]:
        """The database writes, but not this outcome: let the task have failed, or else put it off. If not
        even that is taken, it goes back with the lease; the others go on."""
        held = self.held.get(outcome.task)
        if held is None or held.task.claims != outcome.claims:
            return [outcome], Settled([], [outcome.task])
        task = held.task
        about = {"task": task.id, "kind": task.kind, "job": task.job}
        log.error("outcome_not_written", **about, error=type(error).__name__, reason=str(error))
        failure = outcome_of(error, task, self.retry, random.random())  # noqa: S311 - jitter
        put_off = Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE, delay=REST)
        for instead in (failure, put_off):
            try:
                return [instead], await self.queue.settle(lease, [instead])
            except (LeaseLost, StoreBusy, DiskFull):
                raise
            except Exception as further:  # there is less that might be written
                log.error("failure_not_written", **about, error=type(further).__name__, reason=str(further))
        return [put_off], Settled([], [])

    def _let_go(self, outcome: Outcome) -> str:
        """Hold the outcome's task no longer, unless it is another claim's by now. The task's kind."""
        held = self.held.get(outcome.task)
        if held is None:
            return ""
        if held.task.claims == outcome.claims:
            del self.held[outcome.task]
        return held.task.kind

    async def _trouble(self, error: Exception) -> None:
        """Nothing can be written: keep what is done, claim no more, and try again."""
        if self.problem is None:
            log.error("cannot_settle", error=type(error).__name__, reason=str(error))
        self.problem = error if isinstance(error, StoreError) else StoreError(str(error))
        await asyncio.sleep(2.0 if isinstance(error, DiskFull) else 0.2)

    def recovered(self) -> None:
        self._failures = 0
        if self.problem is not None:
            log.info("settling_again")
            self.problem = None
            self.room.set()
