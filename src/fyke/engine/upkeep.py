"""Upkeep: small steps that keep the queue right, run by every process that can reach the database.

Two processes may run the same step at once: each is a transaction that locks what it touches.
"""

from collections.abc import Awaitable, Callable

import structlog
from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.engine.lifecycle import Loop, Stack
from fyke.engine.metrics import EngineMetrics
from fyke.store.conn import Conn, Database
from fyke.store.metrics import sample
from fyke.store.purge import expire, forget_finished, purge
from fyke.store.queue import SqlQueue, upkeep
from fyke.store.queue.activity import settle_activity
from fyke.store.queue.audit import audit, audit_jobs

__all__ = ["Upkeep", "UpkeepOptions"]

log = structlog.get_logger("fyke.upkeep")

DAY = 86_400 * SECOND


class UpkeepOptions(Struct, frozen=True):
    """How often, in seconds, and how long things are kept, in days."""

    sweep: float = 1.0
    promote: float = 0.2
    activity: float = 0.2
    ends: float = 0.5
    samples: float = 5.0
    purge: float = 5.0
    expire: float = 3600.0
    audit: float = 3600.0
    keep_results: float = 30.0
    keep_failures: float = 90.0


class Upkeep:
    """All steps as one service."""

    def __init__(
        self,
        database: Database,
        queue: SqlQueue,
        forget: Callable[[list[str]], Awaitable[None]],
        options: UpkeepOptions,
        metrics: EngineMetrics,
    ) -> None:
        self.database = database
        self.queue = queue
        self.forget = forget  # deletes objects by their keys
        self.options = options
        self.metrics = metrics
        self.places: dict[str, int] = {}  # where a walk over many rows goes on
        self.stack = Stack(
            [
                Loop("sweep", self._sweep),
                Loop("promote", self._promote),
                Loop("activity", self._activity),
                Loop("ends", self._ends),
                Loop("samples", self._samples),
                Loop("purge", self._purge),
                Loop("expire", self._expire),
                Loop("audit", lambda: self._walk("audit", audit)),
                Loop("audit_jobs", lambda: self._walk("audit_jobs", audit_jobs)),
                Loop("forget", lambda: self._walk("forget", forget_finished)),
            ]
        )

    async def start(self) -> None:
        await self.stack.start()

    async def stop(self) -> None:
        await self.stack.stop()

    async def _step(self, step: Callable[[Conn], Awaitable[int]]) -> int:
        """Run one step if there is anything to do, and tell those who wait for work."""
        handled = await self.database.write(step)
        if handled:
            self.queue.wake()
        return handled

    async def _sweep(self) -> float:
        taken = await self._step(upkeep.sweep)
        if taken:
            self.metrics.took_over(taken)
            log.warning("lease_taken_over", tasks=taken)
        return 0.0 if taken else self.options.sweep

    async def _promote(self) -> float:
        return 0.0 if await self._step(upkeep.promote) == upkeep.CHUNK else self.options.promote

    async def _activity(self) -> float:
        return 0.0 if await self._step(settle_activity) >= upkeep.CHUNK else self.options.activity

    async def _ends(self) -> float:
        await self._step(upkeep.end_stopped)
        return self.options.ends

    async def _samples(self) -> float:
        await self.database.write(sample)
        return self.options.samples

    async def _purge(self) -> float:
        gone = await self.database.write(purge)
        await self.forget(gone.objects)
        return 0.0 if gone.more else self.options.purge

    async def _expire(self) -> float:
        options = self.options
        keep, failures = int(options.keep_results * DAY), int(options.keep_failures * DAY)
        await self.database.write(lambda conn: expire(conn, keep, failures))
        return options.expire

    async def _walk(self, name: str, step: Callable[[Conn, int], Awaitable[tuple[int, int]]]) -> float:
        """A few rows of a long walk; from the beginning again a good while after it has come to the end."""
        after = self.places.get(name, -1)
        changed, self.places[name] = await self.database.write(lambda conn: step(conn, after))
        if changed and step is not forget_finished:
            log.warning("counters_corrected", count=changed, of=name)
        return self.options.audit if self.places[name] < 0 else 0.05
