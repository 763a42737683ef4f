"""The site of the chaos runs: quick, on loopback, and it keeps a log of everything that was asked for.

Its log is the one witness that no process under test can touch: what was fetched again, and by whom.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self, cast

__all__ = ["Site"]

ROBOTS = b"User-agent: *\nAllow: /\n"
BODY = (
    "<!doctype html><title>{path}, answer {number}</title><h1>{path}</h1>"
    '<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Product",'
    '"name":"{path}","sku":"{number}","offers":{{"@type":"Offer","price":"9.50","priceCurrency":"EUR"}}}}'
    "</script><p>It costs 9.50.</p>"
)


class Site:
    """Pages at /0, /1 and so on. Each answer takes `delay` seconds; while the gate is shut none is given.
    `poison` are paths that are never answered: `on_poison` is told the port of who asks."""

    def __init__(self, pages: int, *, delay: float = 0.02) -> None:
        self.paths = [f"/{number}" for number in range(pages)]
        self.delay = delay
        self.hits: Counter[str] = Counter()
        self.poison: frozenset[str] = frozenset()
        self.on_poison: Callable[[int], None] = lambda port: None
        self.base = ""
        self._gate = asyncio.Event()
        self._gate.set()
        self._news = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._open: set[Visitor] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Visitor(self), "127.0.0.1", 0, backlog=1024)
        self.base = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for visitor in [*self._open]:
            visitor.leave()
        await self._server.wait_closed()

    @property
    def urls(self) -> list[str]:
        return [self.base + path for path in self.paths]

    def distinct(self) -> int:
        """How many of the pages have been asked for."""
        return len(self.hits)

    @property
    def asked_for(self) -> int:
        return sum(self.hits.values())

    def again(self, but: Iterable[str] = ()) -> int:
        """How many requests were for a page that had been asked for before, some pages left out."""
        left_out = set(but)
        return sum(count - 1 for path, count in self.hits.items() if path not in left_out)

    def shut(self) -> None:
        """Give no answers; requests wait."""
        self._gate.clear()

    def open(self) -> None:
        self._gate.set()

    async def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Wait for a request after which `condition` holds."""
        async with asyncio.timeout(seconds):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def asked(self, path: str) -> None:
        self.hits[path] += 1
        self._news.set()

    async def answer(self, path: str) -> bytes:
        number = self.hits[path]
        await asyncio.sleep(self.delay)
        await self._gate.wait()
        return spelled(BODY.format(path=path, number=number).encode())


class Visitor(asyncio.Protocol):
    """A connection. Whoever asks twice before the first answer gets the answers in that order."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.read = b""
        self.transport: asyncio.Transport | None = None
        self.port = 0
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # as every stream server gives
        self.port = transport.get_extra_info("peername")[1]
        self.site._open.add(self)
        self.answering = asyncio.create_task(self._answer())

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.site._open.discard(self)
        if self.answering is not None:
            self.answering.cancel()

    def leave(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        *heads, self.read = (self.read + data).split(b"\r\n\r\n")
        for head in heads:
            self.asked.put_nowait(head.split(b" ", 2)[1].decode())

    async def _answer(self) -> None:
        while True:
            path = await self.asked.get()
            if path == "/robots.txt":
                answer = spelled(ROBOTS, b"text/plain")
            else:
                self.site.asked(path)
                if path in self.site.poison:
                    self.site.on_poison(self.port)
                    return
                answer = await self.site.answer(path)
            if self.transport is not None:
                self.transport.write(answer)


def spelled(body: bytes, kind: bytes = b"text/html; charset=utf-8") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)
