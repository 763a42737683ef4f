"""Settling: what is done is sent as soon as the previous sending has returned, so batches grow with the
load and nothing waits for a timer. What cannot be written is kept until it can be, or its lease is lost.
"""

import asyncio
import contextlib

import structlog
from msgspec import Struct

from fyke.core.errors import DiskFull, LeaseLost, StoreError
from fyke.core.outcome import Outcome
from fyke.core.queue import Queue
from fyke.core.task import JobInfo, Task
from fyke.engine.metrics import EngineMetrics

__all__ = ["Held", "Settler"]

log = structlog.get_logger("fyke.worker")

MOST_SETTLED = 200
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
        self, queue: Queue, held: dict[int, Held], metrics: EngineMetrics, room: asyncio.Event
    ) -> None:
        self.queue = queue
        self.held = held
        self.metrics = metrics
        self.room = room
        self.outcomes: list[tuple[int, Outcome]] = []
        self.problem: StoreError | None = None
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
                await self._settle_some()
            self._empty.set()

    async def _settle_some(self) -> None:
        lease = self.outcomes[0][0]
        some = [o for held_under, o in self.outcomes[:MOST_SETTLED] if held_under == lease]
        try:
            settled = await self.queue.settle(lease, some)
        except LeaseLost:
            settled = None
        except Exception as error:  # a worker that stopped settling would keep what it holds for ever
            if self.outcomes and self.outcomes[0][1] is some[0]:  # else its lease is lost, and it with that
                await self._trouble(error)
            return
        self.recovered()
        sent = {id(outcome) for outcome in some}  # not its task: that may have been claimed again
        self.outcomes = [(u, o) for u, o in self.outcomes if id(o) not in sent]
        kinds = [self._let_go(outcome) for outcome in some]
        self.metrics.count(zip(kinds, some, strict=True))
        refused = len(some) if settled is None else len(settled.refused)
        if refused:
            self.metrics.refused.inc(refused)
            log.warning("late_outcomes_dropped", count=refused)
        self.metrics.settled.observe(len(some))
        self.room.set()

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
        if self.problem is not None:
            log.info("settling_again")
            self.problem = None
            self.room.set()
