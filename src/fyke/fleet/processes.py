"""Worker processes beside the server: started, watched, and started again when they die.

With an embedded database each talks to its parent over a socket pair that it inherits, so there is no
address and no secret; when one dies, its leases end at once. With a shared database each has connections
of its own, and its leases run out.
"""

import asyncio
import socket
import sys

import structlog

from fyke.core.clock import monotonic
from fyke.fleet.wire import WireServer
from fyke.store.queue import SqlQueue

__all__ = ["WorkerProcesses"]

log = structlog.get_logger("fyke.processes")

COMMAND = (sys.executable, "-m", "fyke", "worker")
SHORTEST = 5.0  # a process that lives shorter makes the next wait longer


class WorkerProcess:
    """One place for a worker process: whoever is in it at the time."""

    def __init__(self, number: int, queue: SqlQueue, grace: float) -> None:
        self.number = number
        self.queue = queue
        self.grace = grace
        self.process: asyncio.subprocess.Process | None = None
        self.watching: asyncio.Task[None] | None = None
        self.stopping = False

    async def start(self) -> None:
        self.watching = asyncio.create_task(self._watch(), name=f"worker-{self.number}")

    async def stop(self) -> None:
        self.stopping = True
        watching, self.watching = self.watching, None
        if watching is None:
            return
        process = self.process
        if process is not None and process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(self.grace + 5):
                    await process.wait()
            except TimeoutError:
                process.kill()
        await asyncio.wait([watching])

    async def _watch(self) -> None:
        pause = 0.1
        while not self.stopping:
            began = monotonic()
            code = await self._run_one()
            if self.stopping:
                return
            log.warning("worker_died", worker=self.number, code=code)
            pause = 0.1 if monotonic() - began > SHORTEST else min(10.0, pause * 2)
            await asyncio.sleep(pause)

    async def _run_one(self) -> int | None:
        """Run a process until it ends."""
        if self.queue.database.shared:
            self.process = await asyncio.create_subprocess_exec(*COMMAND)
            return await self.process.wait()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        server = WireServer(self.queue, ours)
        with theirs:
            descriptor = theirs.fileno()
            self.process = await asyncio.create_subprocess_exec(
                *COMMAND, "--wire-fd", str(descriptor), pass_fds=(descriptor,)
            )
        await server.start()
        try:
            return await self.process.wait()
        finally:
            await server.stop()
            for lease in server.leases:
                await self.queue.expire(lease)


class WorkerProcesses:
    """As many worker processes as asked for."""

    def __init__(self, count: int, queue: SqlQueue, grace: float) -> None:
        self.places = [WorkerProcess(number, queue, grace) for number in range(count)]

    async def start(self) -> None:
        for place in self.places:
            await place.start()

    async def stop(self) -> None:
        await asyncio.gather(*(place.stop() for place in self.places))

    def pids(self) -> list[int]:
        return [p.process.pid for p in self.places if p.process is not None and p.process.returncode is None]
