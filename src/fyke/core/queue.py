"""The queue as a worker sees it, whether behind it is SQL or a wire."""

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from fyke.core.outcome import Outcome, Settled
from fyke.core.task import Batch, WorkerInfo

__all__ = ["Queue", "Share"]


class Share(Enum):
    """Which of what waits a worker can do. Fyke's own tasks need the database; a process that works
    over a wire has none, so where all others do, one beside the database does those alone."""

    ALL = "all"
    JOBS = "jobs"
    OWN = "own"


class Queue(Protocol):
    """Tasks are claimed under a lease, and count as done when their outcomes are settled under it.

    A lease lasts `lease_seconds` from its opening or last renewal, by the queue's clock. When it has
    run out, its tasks go to others and `LeaseLost` is what its holder hears.
    """

    lease_seconds: float

    async def open_lease(self, worker: WorkerInfo) -> int:
        """A new lease."""
        ...

    async def claim(self, lease: int, want: int) -> Batch:
        """At most `want` tasks that may start now or within their `wait`."""
        ...

    async def claim_suspect(self, lease: int) -> Batch:
        """One task that must run alone, for a worker that holds nothing else."""
        ...

    async def renew(self, lease: int) -> None:
        """Make the lease last its full time from now; LeaseLost when it is gone."""
        ...

    async def settle(self, lease: int, outcomes: Sequence[Outcome]) -> Settled:
        """Complete tasks and write their rows, all in one transaction."""
        ...

    async def hand_back(self, lease: int, tasks: Sequence[int]) -> None:
        """Give tasks back unworked, as if they had never been claimed."""
        ...

    async def close_lease(self, lease: int) -> None:
        """End the lease; what it still holds is handed back."""
        ...

    def subscribe(self) -> asyncio.Event:
        """An event that is set whenever there may be new work; whoever waits on it clears it, before
        the claim that would see that work."""
        ...
