"""Workers that claim and settle as fast as they can, several in one process and in several processes.

As a program it reads one order (JSON) from its input, says that it is ready, starts at the next line, and
prints what it did.
"""

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fyke.core import clock
from fyke.core.outcome import Outcome, Verdict
from fyke.core.task import Batch, Task
from fyke.store.conn import Conn
from fyke.store.queue.claim import claim
from fyke.store.queue.settle import settle
from tests.contract.rig import HOUR, Rig, outcome

__all__ = ["Order", "Start", "in_one_process", "in_processes", "in_simulated_time"]

ROOT = Path(__file__).parents[2]


class Order(Struct):
    """`claimers` work until no job crawls any more, `want` tasks at a time. One in `unsteady` tasks is
    not done but retried, requeued or handed back."""

    url: str
    claimers: int
    want: int
    unsteady: int = 0


class Start(Struct):
    """A task as it was handed out: `at` is its start by the clock of the database."""

    task: int
    claims: int
    job: int
    seq: int
    lane: int
    at: int
    accepted: bool = False


class Clocked:
    """A connection that keeps the first time it was asked for."""

    def __init__(self, conn: Conn) -> None:
        self.conn = conn
        self.time = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.conn, name)

    async def now(self) -> int:
        time = await self.conn.now()
        self.time = self.time or time
        return time


class At:
    """A connection whose clock stands at a time."""

    def __init__(self, conn: Conn, time: int) -> None:
        self.conn = conn
        self.time = time

    def __getattr__(self, name: str) -> Any:
        return getattr(self.conn, name)

    async def now(self) -> int:
        return self.time


async def in_simulated_time(rig: Rig, claimers: int, want: int, amount: int) -> list[Start]:
    """Claimers that each ask again as soon as they were told to, until they have had so many tasks."""
    begin = await rig.now()
    asks = [(begin + number, await rig.open_lease(f"claimer {number}")) for number in range(claimers)]
    await rig.execute("UPDATE leases SET until = until + $1", HOUR)
    starts: list[Start] = []
    while len(starts) < amount:
        now, lease = heappop(asks)

        async def work(conn: Conn, now: int = now, lease: int = lease) -> Batch:
            batch = await claim(At(conn, now), lease, want)
            await settle(At(conn, now), lease, [rig.done(task) for task in batch.tasks])
            return batch

        batch = await rig.database.write(work)
        starts += [Start(t.id, t.claims, t.job, t.seq, t.lane, now + t.wait) for t in batch.tasks if t.job]
        heappush(asks, (now + max(1, batch.retry_in), lease))
    return starts


async def timed_claim(rig: Rig, lease: int, want: int) -> tuple[list[Task], int, int]:
    """The tasks, when they were claimed, and after how many µs to ask again."""

    async def work(conn: Conn) -> tuple[list[Task], int, int]:
        clocked = Clocked(conn)
        batch = await claim(clocked, lease, want)
        return batch.tasks, clocked.time, batch.retry_in

    return await rig.database.write(work)


async def work_off(rig: Rig, order: Order, seed: int) -> list[Start]:
    """One claimer, until there is nothing left to crawl."""
    chance = random.Random(seed)
    lease = await rig.open_lease(f"claimer {seed}")
    starts: list[Start] = []
    while True:
        tasks, now, retry_in = await timed_claim(rig, lease, order.want)
        mine = [Start(t.id, t.claims, t.job, t.seq, t.lane, now + t.wait) for t in tasks if t.job]
        starts += mine
        unsteady = [order.unsteady > 0 and t.job > 0 and chance.randrange(order.unsteady) == 0 for t in tasks]
        back = [t.id for t, odd in zip(tasks, unsteady, strict=True) if odd and chance.random() < 0.3]
        await rig.queue.hand_back(lease, back)
        sent: list[Outcome] = []
        for task, odd in zip(tasks, unsteady, strict=True):
            if task.id in back:
                continue
            verdict = chance.choice((Verdict.RETRY, Verdict.REQUEUE)) if odd else Verdict.SUCCEEDED
            sent.append(outcome(task, verdict) if odd else rig.done(task))
        settled = await rig.settle(*sent, lease=lease)
        assert not settled.refused
        done = {o.task for o in sent if o.verdict == Verdict.SUCCEEDED}
        for start in mine:
            start.accepted = start.task in done
        if not tasks:
            await rig.promote()
            await rig.activity()
            if not await rig.value("SELECT count(*) FROM jobs WHERE phase <> 'done'"):
                await rig.queue.close_lease(lease)
                return starts
            await asyncio.sleep(min(retry_in, 20_000) / 1e6)


async def in_one_process(
    order: Order, seed: int = 0, go: Callable[[], Awaitable[None]] | None = None
) -> list[Start]:
    """Claimers on connections of their own; where one process writes, on one that they share."""
    first = await Rig(order.url).open()
    rigs = [first]
    if first.database.shared:
        rigs += [await Rig(order.url).open() for _ in range(order.claimers - 1)]
    try:
        if go is not None:
            await go()
        works = [work_off(rigs[n % len(rigs)], order, seed + n) for n in range(order.claimers)]
        return [start for some in await asyncio.gather(*works) for start in some]
    finally:
        for rig in rigs:
            await rig.close()


async def in_processes(order: Order, processes: int, skews: Sequence[int] = ()) -> list[Start]:
    """The same claimers spread over processes that start at once. `skews` is how many µs the clock of each
    of them is wrong."""
    share = msgspec.structs.replace(order, claimers=order.claimers // processes)
    programs = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.contract.claimers",
            str(number * 100),
            str(skews[number] if skews else 0),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for number in range(processes)
    ]
    try:
        for program in programs:
            assert program.stdin is not None
            program.stdin.write(msgspec.json.encode(share) + b"\n")
        for program in programs:
            assert program.stdout is not None
            assert await program.stdout.readline() == b"ready\n"
        results = await asyncio.gather(*(program.communicate(b"go\n") for program in programs))
    finally:
        for program in programs:
            if program.returncode is None:
                program.kill()
                await program.wait()
    return [start for out, _ in results for start in msgspec.json.decode(out, type=list[Start])]


def skew_clock(by: int) -> None:
    real = clock.now
    clock.now = lambda: real() + by


async def main() -> None:
    skew_clock(int(sys.argv[2]))
    order = msgspec.json.decode(sys.stdin.readline(), type=Order)

    async def go() -> None:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

    starts = await in_one_process(order, int(sys.argv[1]), go)
    sys.stdout.buffer.write(msgspec.json.encode(starts))


if __name__ == "__main__":
    asyncio.run(main())
