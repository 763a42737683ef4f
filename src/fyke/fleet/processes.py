"""Worker processes beside the server: started, watched, and started again when they die.

With an embedded database each talks to its parent over a socket pair that it inherits, so there is no
address and no secret; when one dies, its leases end at once. With a shared database each has connections
of its own, and its leases run out; the socket pair tells it that its parent is gone, and the parent what it
has counted.
"""

import asyncio
import signal
import socket
import sys
from contextlib import suppress
from functools import partial

import structlog

from fyke.core.clock import monotonic
from fyke.engine.metrics import EngineMetrics
from fyke.fleet.reports import listen
from fyke.fleet.wire import WireServer
from fyke.store.queue import SqlQueue

__all__ = ["WorkerProcesses"]

log = structlog.get_logger("fyke.processes")

COMMAND = (sys.executable, "-m", "fyke", "worker")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 10.0
SHORTEST = 5.0  # a process that lives shorter makes the next wait longer
KILLED = 5.0  # seconds for the system to end what was killed


class WorkerProcess:
    """One place for a worker process: whoever is in it at the time."""

    def __init__(self, number: int, queue: SqlQueue, metrics: EngineMetrics, grace: float) -> None:
        self.number = number
        self.queue = queue
        self.metrics = metrics
        self.grace = grace
        self.process: asyncio.subprocess.Process | None = None
        self.watching: asyncio.Task[None] | None = None
        self.stopping = asyncio.Event()

    async def start(self) -> None:
        self.watching = asyncio.create_task(self._watch(), name=f"worker-{self.number}")

    async def stop(self) -> None:
        self.stopping.set()
        watching, self.watching = self.watching, None
        if watching is None:
            return
        self._send(signal.SIGTERM)
        if not (await asyncio.wait([watching], timeout=self.grace + 5))[0]:
            self._send(signal.SIGKILL)
            await asyncio.wait([watching], timeout=KILLED)
        watching.cancel()
        await asyncio.wait([watching])

    def _send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    async def _watch(self) -> None:
        pause = FIRST_PAUSE
        while not self.stopping.is_set():
            began = monotonic()
            try:
                code = await self._run_one()
            except Exception as error:  # whatever it is, the place must not stay empty
                log.error("worker_failed", worker=self.number, error=type(error).__name__, reason=str(error))
            else:
                if not self.stopping.is_set():
                    log.warning("worker_died", worker=self.number, code=code)
            pause = FIRST_PAUSE if monotonic() - began > SHORTEST else min(LONGEST_PAUSE, pause * 2)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.stopping.wait()

    async def _run_one(self) -> int:
        """Run a process until it ends, with a socket that tells it when this one does, and by which it tells
        what it has counted."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        heard = partial(self.metrics.heard, self.number)
        if self.queue.database.shared:
            reader, writer = await asyncio.open_connection(sock=ours)
            listening = asyncio.create_task(listen(reader, heard))
            try:
                with theirs:
                    return await self._run(theirs, "--parent-fd")
            finally:
                await asyncio.wait([listening], timeout=KILLED)  # to what it has said last
                listening.cancel()
                writer.close()
                self.metrics.ended(self.number)
        server = WireServer(self.queue, ours, heard=heard)
        try:
            with theirs:
                await server.start()
                return await self._run(theirs, "--wire-fd")
        finally:
            await server.stop()
            self.metrics.ended(self.number)
            for lease in sorted(server.leases):
                await self.queue.expire(lease)

    async def _run(self, theirs: socket.socket, option: str) -> int:
        descriptor = theirs.fileno()
        process = await asyncio.create_subprocess_exec(
            *COMMAND, option, str(descriptor), pass_fds=(descriptor,)
        )
        theirs.close()
        self.process = process
        try:
            if self.stopping.is_set():  # since before there was anybody to be told
                self._send(signal.SIGTERM)
            return await process.wait()
        finally:
            self._send(signal.SIGKILL)  # none is left behind unwatched


class WorkerProcesses:
    """As many worker processes as asked for."""

    def __init__(self, count: int, queue: SqlQueue, metrics: EngineMetrics, grace: float) -> None:
        self.places = [WorkerProcess(number, queue, metrics, grace) for number in range(count)]

    async def start(self) -> None:
        for place in self.places:
            await place.start()

    async def stop(self) -> None:
        await asyncio.gather(*(place.stop() for place in self.places))

    def pids(self) -> list[int]:
        return [p.process.pid for p in self.places if p.process is not None and p.process.returncode is None]
