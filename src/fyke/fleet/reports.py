"""What a worker process has counted, told to the server beside which it works: /metrics is the server's."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import structlog

from fyke.core.errors import StoreError
from fyke.engine.metrics import EngineMetrics, Tallies
from fyke.fleet.frames import encode, read_frame, write_frame

__all__ = ["Parent", "Reports", "listen"]

log = structlog.get_logger("fyke.reports")

EVERY = 2.0  # seconds

_decode = msgspec.msgpack.Decoder(Tallies).decode


class Reports:
    """Sends what has been counted every few seconds, and at the end."""

    def __init__(self, metrics: EngineMetrics, send: Callable[[Tallies], Awaitable[None]]) -> None:
        self.metrics = metrics
        self.send = send
        self._sending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._sending = asyncio.create_task(self._send_forever(), name="reports")

    async def stop(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()
            await asyncio.wait([sending])
            await self._send()

    async def _send_forever(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self._send()

    async def _send(self) -> None:
        with suppress(StoreError, OSError, TimeoutError):  # whoever is to hear it may be gone
            async with asyncio.timeout(EVERY):
                await self.send(self.metrics.report())


class Parent:
    """The server of a worker process that has a database connection of its own, at the other end of a socket
    which it inherited: it is told what the process has counted, and its end is noticed."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def start(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=self._sock)
        self._writer.transport.set_write_buffer_limits(0)  # drain() waits until all is sent

    async def stop(self) -> None:
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(EVERY):
                await self._writer.wait_closed()

    async def tell(self, tallies: Tallies) -> None:
        """Whoever stops waiting cuts no report off: before the one before is sent, this one is not begun."""
        await self._writer.drain()
        write_frame(self._writer, encode(tallies))

    async def gone(self) -> str:
        """Wait for the end of the server, which says nothing itself; the reason to stop."""
        with suppress(OSError):
            await self._reader.read(1)
        return "the server is gone"


async def listen(reader: asyncio.StreamReader, heard: Callable[[Tallies], None]) -> None:
    """Take reports from a stream on which nothing else comes, to its end."""
    try:
        while True:
            heard(_decode(await read_frame(reader)))
    except (asyncio.IncompleteReadError, OSError):
        return
    except ValueError as error:  # the process works on, but is not counted any more
        log.error("report_not_understood", reason=str(error))
