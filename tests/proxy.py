"""A TCP proxy on loopback that a test can cut, pause and slow down: the network's bad days.

async with Proxy(server.port) as proxy:
    connect to 127.0.0.1:proxy.port
    proxy.pause()    # both sides hear nothing, connections stay
    proxy.resume()
    proxy.cut()      # connections break; new ones are refused until mend()
    proxy.mend()
    proxy.delay = 0.05
"""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

__all__ = ["Proxy", "port_of", "through"]


class Proxy:
    """Carries bytes between its own port and `target` on loopback. `delay` is how many seconds each
    portion is held back, either way; `carried` counts bytes, `accepted` connections."""

    def __init__(self, target: int, *, delay: float = 0) -> None:
        self.target = target
        self.delay = delay
        self.accepted = 0
        self.carried = 0
        self._port = 0
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._port

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.resume()
        self.break_connections()
        if self._tasks:  # a server's task that is cancelled complains; nearly all end by themselves now
            await asyncio.wait(self._tasks, timeout=1)
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def pause(self) -> None:
        """Carry nothing, as when a cable is pulled: nobody is told."""
        self._flowing.clear()

    def resume(self) -> None:
        """Carry on, with what was held back."""
        self._flowing.set()

    def break_connections(self) -> None:
        """Reset every open connection; new ones are welcome."""
        for writer in [*self._writers]:
            writer.transport.abort()

    def cut(self) -> None:
        """Reset every connection, and new ones at once, until `mend`."""
        self._is_cut = True
        self.break_connections()

    def mend(self) -> None:
        self._is_cut = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._is_cut:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return  # the caller hears a reset, as from a host whose server has gone
        self._writers.add(there_writer)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, there_writer))
                group.create_task(self._carry(there_reader, writer))
        finally:
            self._writers.discard(there_writer)
            there_writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):  # "not connected" is one, too
            while data := await reader.read(65_536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
                self.carried += len(data)
            if writer.can_write_eof():
                writer.write_eof()
            return
        writer.transport.abort()


def through(url: str, port: int) -> str:
    """The URL of a server on loopback with the proxy's port in place of its own."""
    head, colon, rest = url.rpartition("@127.0.0.1:")
    return f"{head}{colon}{port}{rest.lstrip('0123456789')}"


def port_of(url: str) -> int:
    """The port of a server on loopback, by its URL."""
    return int(url.rpartition("@127.0.0.1:")[2].partition("/")[0])
