"""The rig with the wire in between: what a worker in another process sees of the queue."""

import socket

from fyke.core.queue import Share
from fyke.fleet.wire import WireQueue, WireServer
from fyke.store.queue import SqlQueue
from tests.contract.rig import Rig

__all__ = ["WiredRig"]


class WiredRig(Rig):
    """Its queue is the port and no more. Fyke's own tasks pass over this wire as well, so that jobs end."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        ours, theirs = socket.socketpair()
        self.server = WireServer(SqlQueue(self.database), ours, Share.ALL)
        self.wire = WireQueue(theirs, self.queue.lease_seconds)
        self.queue = self.wire  # type: ignore[assignment]  # as much of the queue as a worker knows

    async def connect(self) -> None:
        await self.server.start()
        await self.wire.start()

    async def close(self) -> None:
        await self.wire.stop()
        await self.server.stop()
        await super().close()
