"""The queue port over SQL: each call is one transaction, and work that is added wakes who waits."""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Sequence
from copy import copy

import msgspec

from fyke.core.clock import SECOND
from fyke.core.errors import LeaseLost
from fyke.core.ids import new_id
from fyke.core.outcome import Outcome, Settled
from fyke.core.queue import Share
from fyke.core.task import Batch, WorkerInfo
from fyke.store.conn import Conn, Database
from fyke.store.queue import upkeep
from fyke.store.queue.claim import check_lease, claim
from fyke.store.queue.settle import settle
from fyke.store.queue.suspects import HELD, claim_suspect

__all__ = ["SqlQueue"]

LOOK_AGAIN = 100_000  # µs
PATIENCE = 20  # tries to claim a suspect whose lane or job others hold: who asks has put all else down for it


class SqlQueue:
    """See core.queue.Queue."""

    def __init__(self, database: Database, lease_seconds: float = 15.0) -> None:
        self.database = database
        self.lease_seconds = lease_seconds
        self.share = Share.ALL
        self._subscribers: weakref.WeakSet[asyncio.Event] = weakref.WeakSet()
        self._unsure: dict[int, list[int]] = {}  # by lease: what was claimed, but no answer has come

    def limited_to(self, share: Share) -> "SqlQueue":
        """This queue for a worker that can do no more than that share; it hears the same news."""
        limited = copy(self)
        limited.share = share
        return limited

    async def open_lease(self, worker: WorkerInfo) -> int:
        lease = new_id()

        async def work(conn: Conn) -> None:
            now = await conn.now()
            until = now + int(self.lease_seconds * SECOND)
            await conn.insert(
                "leases",
                ("id", "worker", "host", "pid", "opened_at", "until"),
                [(lease, worker.name, worker.host, worker.pid, now, until)],
                on="ignore",  # it is there if the answer to an earlier try was lost
            )

        await self.database.write(work, urgent=True)
        return lease

    async def claim(self, lease: int, want: int) -> Batch:
        batch = await self._hand_out(lease, lambda conn: claim(conn, lease, want, self.share))
        if self.database.shared and batch.retry_in > LOOK_AGAIN:
            # Processes that share the database do not hear each other: look again before long.
            return msgspec.structs.replace(batch, retry_in=LOOK_AGAIN)
        return batch

    async def claim_suspect(self, lease: int) -> Batch:
        for _ in range(PATIENCE):
            batch = await self._hand_out(lease, lambda conn: claim_suspect(conn, lease, self.share))
            if batch.tasks or batch.retry_in > HELD:
                break
            await asyncio.sleep(batch.retry_in / SECOND)
        return batch

    async def _hand_out(self, lease: int, claim_some: Callable[[Conn], Awaitable[Batch]]) -> Batch:
        """Claim. When a connection breaks, nobody knows whether the claim has happened: what it took would
        hang for ever on a lease that lives. So the next try under the lease gives that back first."""

        before = self._unsure.pop(lease, [])
        tried = list[int]()  # by this call, which may be made several times; others may run beside it

        async def work(conn: Conn) -> Batch:
            taken = before + tried
            if taken:
                await check_lease(conn, lease)
                await upkeep.free_lease(conn, lease, taken)
            batch = await claim_some(conn)
            tried.extend(task.id for task in batch.tasks)
            return batch

        try:
            return await self.database.write(work)
        except LeaseLost:
            raise
        except BaseException:
            self._unsure[lease] = self._unsure.get(lease, []) + before + tried
            raise

    async def renew(self, lease: int) -> None:
        async def work(conn: Conn) -> int:
            now = await conn.now()
            return await conn.execute(
                "UPDATE leases SET until = $2 WHERE id = $1 AND until > $3",
                lease,
                now + int(self.lease_seconds * SECOND),
                now,
            )

        if not await self.database.write(work, urgent=True):
            raise LeaseLost

    async def settle(self, lease: int, outcomes: Sequence[Outcome]) -> Settled:
        settled = await self.database.write(lambda conn: settle(conn, lease, outcomes))
        self.wake()  # what was added, and what a cap held back, may be claimed now
        return settled

    async def expire(self, lease: int) -> None:
        """The lease's holder is known to be dead: its tasks need not wait for the lease to run out."""

        async def work(conn: Conn) -> None:
            await conn.execute("UPDATE leases SET until = 0 WHERE id = $1", lease)

        self._unsure.pop(lease, None)
        await self.database.write(work, urgent=True)

    async def expire_all(self) -> None:
        """Likewise those of all leases that there are."""

        async def work(conn: Conn) -> None:
            await conn.execute("UPDATE leases SET until = 0")

        self._unsure.clear()
        await self.database.write(work, urgent=True)

    async def hand_back(self, lease: int, tasks: Sequence[int]) -> None:
        chosen = list(tasks)
        for start in range(0, len(chosen), upkeep.CHUNK):
            some = chosen[start : start + upkeep.CHUNK]
            await self.database.write(lambda conn, some=some: upkeep.free_lease(conn, lease, some))  # type: ignore[misc]
        self.wake()

    async def close_lease(self, lease: int) -> None:
        self._unsure.pop(lease, None)
        while await self.database.write(lambda conn: upkeep.free_lease(conn, lease)) == upkeep.CHUNK:
            pass
        self.wake()

    def wake(self) -> None:
        """Tell everybody in this process who waits that there may be work."""
        for event in self._subscribers:
            event.set()

    def subscribe(self) -> asyncio.Event:
        event = asyncio.Event()
        self._subscribers.add(event)
        return event
