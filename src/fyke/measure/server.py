"""The whole server in this process, as measurements want it: API, engine and one worker, on loopback, in a
directory of its own, with handlers put in place of the server's. It is built by whoever calls, as the
server is a face and this room is below the faces."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from fyke.core.errors import FykeError, Invalid
from fyke.core.handler import Handler
from fyke.engine.worker import Worker
from fyke.settings import Settings
from fyke.store.migrate import migrate
from fyke.wiring import Base, Engine, load_policies, open_base

__all__ = ["Caller", "Serve", "Serving", "serving"]

LONGEST = 30.0  # seconds that an answer may take


class Serving(Protocol):
    """A server: cli.server.Server is one."""

    engine: Engine
    key_file: Path

    @property
    def address(self) -> str: ...

    async def start(self) -> None: ...

    async def stop(self) -> None: ...


Serve = Callable[[Base], Serving]


class Caller:
    """A client with one connection, which it keeps. It shares the loop with the server: what it costs is
    in every time it takes."""

    def __init__(self, server: Serving, key: str) -> None:
        self.server = server
        host, port = server.address.removeprefix("http://").rsplit(":", 1)
        self._host, self._port = host, int(port)
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def worker(self, handlers: Mapping[str, Handler]) -> Worker:
        """The server's worker, with these handlers in place of its own."""
        worker = self.server.engine.worker
        if worker is None:
            raise FykeError("the server has no worker of its own")
        worker.handlers = {**worker.handlers, **handlers}
        return worker

    async def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of the answer."""
        async with asyncio.timeout(LONGEST):
            if self._streams is None:
                self._streams = await asyncio.open_connection(self._host, self._port)
            reader, writer = self._streams
            writer.write(
                f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nX-Api-Key: {self._key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines if line)
            answer = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(first.split(" ")[1]), answer

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            await self._streams[1].wait_closed()


@asynccontextmanager
async def serving(settings: Settings, serve: Serve, folder: Path, database_url: str) -> AsyncIterator[Caller]:
    """The server, on an empty database, without any limit of rate; stopped in the end."""
    settings = settings.model_copy(
        update={
            "data_dir": folder,
            "database_url": database_url,
            "objects_dir": "",
            "host": "127.0.0.1",
            "port": 0,
            "workers": 1,
            "egress_allow": [*settings.egress_allow, "127.0.0.0/8"],
        }
    )
    await migrate(settings.store_url)
    server = serve(await open_base(settings, load_policies(settings).overlaid(0.0, 0)))
    await server.start()
    try:
        if not server.key_file.is_file():
            raise Invalid("the database is in use: give an empty one", field="database")
        caller = Caller(server, server.key_file.read_text().strip())
        try:
            yield caller
        finally:
            await caller.close()
    finally:
        await server.stop()
