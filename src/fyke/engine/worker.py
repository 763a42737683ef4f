"""The worker: claims tasks, runs their handlers, settles their outcomes.

Three things go on at once. The claimer asks for tasks whenever there is room; each task runs on its
own; the settler sends what is done. A lease is held for all of it; when it is lost, everything under it
is dropped, because it belongs to somebody else by then.
"""

import asyncio
import contextlib
import random
from collections.abc import Mapping, Sequence

import structlog
from msgspec import Struct, structs

from fyke.core.clock import SECOND, monotonic
from fyke.core.errors import DiskFull, LeaseLost, StoreBusy, StoreError
from fyke.core.handler import Handler
from fyke.core.outcome import Effect, Outcome, Verdict
from fyke.core.queue import Queue
from fyke.core.retry import RetryPolicy
from fyke.core.task import Batch, JobInfo, WorkerInfo
from fyke.engine.failure import outcome_of, told
from fyke.engine.lookahead import Lookahead
from fyke.engine.metrics import EngineMetrics
from fyke.engine.settling import Held, Settler

__all__ = ["Worker", "WorkerOptions"]

log = structlog.get_logger("fyke.worker")

TOO_LATE = 0.5  # of an interval
GOODBYE = 5.0  # seconds for a queue that may not answer any more
AWAY = 2 * SECOND  # a task that found no database rests


class WorkerOptions(Struct, frozen=True):
    """Who the worker is, and how much it does at once."""

    info: WorkerInfo
    concurrency: int = 64
    ahead: int = 64  # tasks claimed beyond those that run, at most
    grace: float = 30.0
    task_limit: float = 600.0
    retry: RetryPolicy = RetryPolicy()


class Emitter:
    """The context of one running task: see core.handler.Context."""

    def __init__(self, worker: "Worker", held: Held) -> None:
        self.worker = worker
        self.held = held

    async def emit(self, effects: Sequence[Effect]) -> str | None:
        task = self.held.task
        outcome = Outcome(task.id, task.lane, task.claims, Verdict.CONTINUE, tuple(effects))
        settled = await self.worker.queue.settle(self.held.lease, [outcome])
        if settled.refused:
            raise LeaseLost
        return settled.halted.get(task.job)


class Worker:
    """See the module."""

    def __init__(
        self, queue: Queue, handlers: Mapping[str, Handler], options: WorkerOptions, metrics: EngineMetrics
    ) -> None:
        self.queue = queue
        self.handlers = handlers
        self.options = options
        self.metrics = metrics
        self.lease = 0
        self.held: dict[int, Held] = {}
        self.waiting: list[Held] = []
        self.running = 0
        self.suspects = False
        self.stopping = False
        self._room = asyncio.Event()
        self._lookahead = Lookahead(options.ahead, monotonic())
        self.settler = Settler(queue, self.held, options.retry, metrics, self._room)
        self._unclaimed: StoreError | None = None  # why nothing could be claimed
        self._renewing = asyncio.Lock()
        self._loops: list[asyncio.Task[None]] = []

    @property
    def problem(self) -> StoreError | None:
        """Why nothing can be claimed or settled at the moment."""
        return self.settler.problem or self._unclaimed

    # --- life cycle ---

    async def start(self) -> None:
        self.stopping = False
        self.lease = await self.queue.open_lease(self.options.info)
        self.metrics.running = lambda: self.running
        self.metrics.problem = lambda: self.problem.message if self.problem is not None else ""
        self._loops = [
            asyncio.create_task(self._claim_forever(), name="claim"),
            asyncio.create_task(self.settler.run(), name="settle"),
            asyncio.create_task(self._renew_forever(), name="renew"),
        ]

    async def stop(self) -> None:
        """Claim no more; give what runs the grace period; hand back the rest; settle; end the lease."""
        if not self._loops:
            return
        self.stopping = True
        claiming, settling, renewing = self._loops
        self._loops = []
        await _end(claiming)
        await self._hand_back_waiting()
        await self._end_running()
        await self.settler.flush()
        await _end(settling)
        await _end(renewing)
        try:
            async with asyncio.timeout(GOODBYE):
                await self.queue.close_lease(self.lease)
        except Exception as error:  # it runs out by itself
            log.warning("lease_left_open", error=type(error).__name__, reason=str(error))

    def abandon(self) -> None:
        """The queue is out of reach for good: what is held is others' by now, so end it and keep nothing."""
        self._drop({self.lease, *(held.lease for held in self.held.values())})

    async def _end_running(self) -> None:
        runners = {h.runner: h for h in self.held.values() if h.runner is not None}
        if not runners:
            return
        await asyncio.wait(runners, timeout=self.options.grace)
        for runner in runners:
            runner.cancel()
        await asyncio.wait(runners)
        for held in runners.values():
            if held.runner is not None:  # it had not begun; its task goes back with the lease
                self._release(held)
                self.held.pop(held.task.id, None)

    async def _hand_back_waiting(self) -> None:
        ids = [held.task.id for held in self.waiting]
        self.waiting = []
        for identity in ids:
            self.held.pop(identity, None)
        if not ids:
            return
        try:
            async with asyncio.timeout(GOODBYE):
                await self.queue.hand_back(self.lease, ids)
        except Exception as error:  # whatever it is, what runs must be ended and settled all the same
            log.warning("not_handed_back", tasks=len(ids), error=type(error).__name__, reason=str(error))

    # --- claiming ---

    async def _claim_forever(self) -> None:
        news = self.queue.subscribe()
        while True:
            news.clear()
            ahead = self._lookahead.look(monotonic())
            most = self.options.concurrency + ahead
            least = max(1, min(self.options.concurrency, ahead) // 8)  # one costs as much as many
            # What is done and not yet settled is no work any more, but not without end.
            room = min(most - self.running - len(self.waiting), 2 * most - len(self.held))
            # What a slow task has left free may be its own job's: that is known when it is settled, at once.
            unsettled = self.settler.problem is not None or (not ahead and bool(self.settler.outcomes))
            if unsettled or (self.suspects and self.held) or room < least:
                self._room.clear()
                if unsettled or self.held:
                    await self._room.wait()
                continue
            try:
                lease = self.lease
                if self.suspects:
                    batch = await self.queue.claim_suspect(lease)
                    if not batch.tasks:
                        self.suspects = False
                        batch = await self.queue.claim(lease, room)
                        batch = Batch(batch.tasks, batch.jobs, batch.retry_in, False)
                else:
                    batch = await self.queue.claim(lease, room)
            except LeaseLost:
                await self._renew_lease(lease)
                continue
            except Exception as error:  # a worker that stopped claiming would look alive for ever
                log.warning("claim_failed", error=type(error).__name__, reason=str(error))
                self._cannot_claim(error)
                await asyncio.sleep(0.5 + random.random())  # noqa: S311 - jitter
                continue
            self._unclaimed = None
            self._receive(batch, lease)
            if batch.retry_in and not self.stopping:
                await _wait(news, batch.retry_in / SECOND)

    def _cannot_claim(self, error: Exception) -> None:
        """Remember what keeps the database from writing; a busy one is free the next time."""
        if isinstance(error, StoreError) and not isinstance(error, StoreBusy):
            self._unclaimed = error

    def _receive(self, batch: Batch, lease: int) -> None:
        received = monotonic()
        alone = bool(batch.tasks) and batch.tasks[0].alone
        self.suspects = batch.suspects and not alone
        for task in batch.tasks:
            held = Held(task, batch.jobs.get(task.job) or JobInfo(task.job, b"{}"), received, lease)
            self.held[task.id] = held
            self.waiting.append(held)
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self.waiting and self.running < self.options.concurrency:
            held = self.waiting.pop(0)
            self.running += 1
            held.runner = asyncio.create_task(self._run(held))
        if len(self.waiting) <= self._lookahead.tasks // 2:
            self._room.set()

    # --- running ---

    async def _run(self, held: Held) -> None:
        task = held.task
        try:
            outcome = await self._outcome(held)
        except asyncio.CancelledError:
            # stopped, overdue, or dropped with its lease
            self._release(held)
            if self.held.get(task.id) is not held:
                return
            if held.overdue:
                late = outcome_of(TimeoutError(), task, self.options.retry, random.random())  # noqa: S311
                self.settler.add(held.lease, late)
            elif self.stopping and held.lease == self.lease:
                self.settler.add(held.lease, Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE))
            return
        except LeaseLost:
            self._release(held)
            if self.held.get(task.id) is held:
                del self.held[task.id]
                self._room.set()
            return
        self._release(held)
        self.settler.add(held.lease, outcome)

    def _release(self, held: Held) -> None:
        """Its runner has ended, or is about to: once, whoever sees it first. A runner that is cancelled
        before its first step sees nothing."""
        if held.runner is None:
            return
        held.runner = None
        self.running -= 1
        self._lookahead.ended()
        if not self.stopping:
            self._start_waiting()

    async def _outcome(self, held: Held) -> Outcome:
        task = held.task
        slot = held.received + task.wait / SECOND
        if (ahead := slot - monotonic()) > 0.0005:
            await asyncio.sleep(ahead)
        started = monotonic()
        late = started - slot
        if task.interval and late > task.interval / SECOND * TOO_LATE:
            return Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE)
        held.started = started
        try:
            outcome = await self.handlers[task.kind](task, held.job, Emitter(self, held))
        except LeaseLost:
            raise
        except (StoreBusy, DiskFull):  # not the task's fault, so it is no attempt
            return Outcome(task.id, task.lane, task.claims, Verdict.REQUEUE, delay=AWAY)
        except Exception as error:  # a handler's failure is its task's, never the worker's
            log.error("handler_failed", **told(error, task))
            outcome = outcome_of(error, task, self.options.retry, random.random())  # noqa: S311 - jitter
        self.metrics.took(task.kind, monotonic() - started)
        if task.interval and late > 0.001:
            return structs.replace(outcome, late=int(late * SECOND))
        return outcome

    # --- the lease ---

    def _end_overdue(self) -> None:
        """Handlers have limits of their own; this ends those that hang all the same. A timer for each
        task would cost more than most tasks do."""
        limit = monotonic() - self.options.task_limit
        for held in self.held.values():
            if held.runner is not None and not held.overdue and 0 < held.started < limit:
                held.overdue = True
                held.runner.cancel()

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self.queue.lease_seconds / 3)
            self._end_overdue()
            lease = self.lease
            try:
                await self.queue.renew(lease)
            except LeaseLost:
                await self._renew_lease(lease)
            except Exception as error:  # the next may pass
                log.warning("renewal_failed", error=type(error).__name__, reason=str(error))

    async def _renew_lease(self, lost: int) -> None:
        """The lease is lost: drop everything under it, and open another, once whoever finds it out."""
        async with self._renewing:
            if self.lease == lost:
                await self._replace_lease(lost)

    async def _replace_lease(self, lost: int) -> None:
        log.warning("lease_lost", lease=lost, tasks=len(self.held))
        self._drop({lost})
        self._room.set()
        try:
            self.lease = await self.queue.open_lease(self.options.info)
        except Exception as error:  # neither who claims nor who renews must end of it
            log.warning("no_new_lease", error=type(error).__name__, reason=str(error))
            self._cannot_claim(error)
            await asyncio.sleep(1)
        else:
            self.settler.recovered()  # nothing is left of what could not be written

    def _drop(self, leases: set[int]) -> None:
        self.waiting = [held for held in self.waiting if held.lease not in leases]
        self.settler.drop(leases)
        for held in list(self.held.values()):
            if held.lease in leases:
                self.held.pop(held.task.id, None)
                if held.runner is not None:
                    held.runner.cancel()
                    self._release(held)


async def _wait(event: asyncio.Event, timeout: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await event.wait()


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])
