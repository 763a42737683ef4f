"""What a worker process has counted, told to the server beside which it works: /metrics is the server's."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec

from fyke.core.errors import StoreError
from fyke.engine.metrics import EngineMetrics, Tallies
from fyke.fleet.frames import read_frame

__all__ = ["Reports", "listen"]

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


async def listen(reader: asyncio.StreamReader, heard: Callable[[Tallies], None]) -> None:
    """Take reports from a stream on which nothing else comes, to its end."""
    with suppress(asyncio.IncompleteReadError, OSError, ValueError, msgspec.DecodeError):
        while True:
            heard(_decode(await read_frame(reader)))
