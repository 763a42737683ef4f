"""A web server that does everything wrong, on loopback: one path for each thing.

    async with HostileServer() as server:
        await client.fetch(Request(server.url("/endless-body")))

Paths are the names of the functions below, `_` written as `-`. Every connection is counted, and every one
that still runs is ended when the server closes.
"""

import asyncio
import gzip
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

MIB = 1024 * 1024
HTML = b"<!doctype html><html><head><title>Lamp</title></head><body><h1>Lamp</h1></body></html>"


class Asked:
    """One request as the server saw it."""

    def __init__(self, target: str, headers: dict[str, str]) -> None:
        parts = urlsplit(target)
        self.path = parts.path
        self.query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.headers = headers


class Reply:
    """What a path's function writes with. `delay` seconds pass between the bytes of what drips."""

    def __init__(self, writer: asyncio.StreamWriter, asked: Asked) -> None:
        self.writer = writer
        self.asked = asked
        self.keep = False

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, *lines: str, status: str = "200 OK") -> None:
        await self.raw(("\r\n".join((f"HTTP/1.1 {status}", *lines)) + "\r\n\r\n").encode("latin-1"))

    async def whole(self, body: bytes, *lines: str, status: str = "200 OK", kind: str = "text/html") -> None:
        """A well-formed answer; the connection stays open for the next request."""
        await self.head(f"Content-Length: {len(body)}", f"Content-Type: {kind}", *lines, status=status)
        await self.raw(body)
        self.keep = True

    async def redirect(self, url: str, *lines: str, status: str = "302 Found") -> None:
        await self.whole(b"moved", f"Location: {url}", *lines, status=status)


Page = Callable[[Reply], Awaitable[None]]
PAGES: dict[str, Page] = {}


def page(function: Page) -> Page:
    PAGES["/" + function.__name__.replace("_", "-")] = function
    return function


class HostileServer:
    """The server. `requests` counts by path, `asked` keeps the requests, `connections` counts them."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.asked: list[Asked] = []
        self.connections = 0
        self.port = 0
        self.extra: dict[str, Page] = {}
        self._news = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, path: str = "/ok", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def has_seen(self, path: str, times: int = 1) -> None:
        """Wait until the path has been asked for that often."""
        async with self._news:
            await self._news.wait_for(lambda: self.requests[path] >= times)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            async for asked in _requests(reader):
                self.asked.append(asked)
                async with self._news:
                    self.requests[asked.path] += 1
                    self._news.notify_all()
                reply = Reply(writer, asked)
                await (self.extra.get(asked.path) or PAGES.get(asked.path) or missing)(reply)
                if not reply.keep:
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client had enough, or the server is closed
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if writer.transport.get_write_buffer_size() else writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Asked]:
    while True:
        line = await reader.readline()
        parts = line.decode("latin-1").split(" ")
        if len(parts) < 3:
            return
        headers: dict[str, str] = {}
        while (header := (await reader.readline()).decode("latin-1").strip()) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        yield Asked(parts[1], headers)


async def missing(reply: Reply) -> None:
    await reply.whole(b"<title>Nothing here</title>", status="404 Not Found")


@page
async def ok(reply: Reply) -> None:
    await reply.whole(HTML)


@page
async def close_after(reply: Reply) -> None:
    """A good answer; the connection, said to stay open, is closed."""
    await reply.whole(HTML, "Connection: keep-alive")
    reply.keep = False


@page
async def status(reply: Reply) -> None:
    """The status of ?code=, with ?retry= as Retry-After."""
    lines = [f"Retry-After: {reply.asked.query['retry']}"] if "retry" in reply.asked.query else []
    await reply.whole(HTML, *lines, status=f"{reply.asked.query['code']} Asked For")


@page
async def etag(reply: Reply) -> None:
    if reply.asked.headers.get("if-none-match") == '"v1"':
        await reply.head('ETag: "v1"', status="304 Not Modified")
        reply.keep = True
    else:
        await reply.whole(HTML, 'ETag: "v1"', "Last-Modified: Thu, 05 Mar 2026 10:00:00 GMT")


# Slowness


@page
async def silent(reply: Reply) -> None:
    await asyncio.Event().wait()


@page
async def slow_loris(reply: Reply) -> None:
    """A header line that never ends, a byte at a time."""
    await reply.raw(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await reply.raw(b"a")
        await asyncio.sleep(0.02)


@page
async def drip(reply: Reply) -> None:
    """A body that never ends, a byte at a time."""
    await reply.head("Content-Type: text/html")
    while True:
        await reply.raw(b"a")
        await asyncio.sleep(0.02)


@page
async def stalled(reply: Reply) -> None:
    """Half of a body, and then nothing."""
    await reply.head("Content-Type: text/html", "Content-Length: 1000")
    await reply.raw(b"a" * 500)
    await asyncio.Event().wait()


# Size


@page
async def endless_headers(reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while True:
        number += 1
        await reply.raw(b"X-Header-%d: %s\r\n" % (number, b"a" * 100))


@page
async def endless_header(reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        await reply.raw(b"a" * 4096)


@page
async def many_headers(reply: Reply) -> None:
    """Many, but not many bytes."""
    await reply.whole(HTML, *(f"X-{number}: 1" for number in range(1000)))


@page
async def endless_hints(reply: Reply) -> None:
    """Interim responses without end."""
    while True:
        await reply.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n")


@page
async def endless_body(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    while True:
        await reply.raw(b"10000\r\n" + b"a" * 65536 + b"\r\n")


@page
async def endless_chunk_extension(reply: Reply) -> None:
    """A chunk whose length is followed by an extension without end."""
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"5;")
    while True:
        await reply.raw(b"x" * 65536)


@page
async def chunk_extensions(reply: Reply) -> None:
    """A body that never ends, hidden between chunk extensions that are a thousand times as long."""
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    while True:
        await reply.raw((b"1;" + b"x" * 1000 + b"\r\na\r\n") * 60)


@page
async def endless_trailers(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"1\r\na\r\n0\r\n")
    while True:
        await reply.raw(b"X-Trailer: late\r\n" * 100)


@page
async def endless_trailer(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"1\r\na\r\n0\r\nX-Trailer: ")
    while True:
        await reply.raw(b"a" * 4096)


@page
async def announced_large(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", f"Content-Length: {10**13}")
    await reply.raw(b"a" * 1000)
    await asyncio.Event().wait()


@page
async def picture(reply: Reply) -> None:
    """A picture without end, as a page."""
    await reply.head("Content-Type: image/gif")
    while True:
        await reply.raw(b"GIF89a" * 10000)


BOMB = 128 * MIB


@lru_cache
def bomb(kind: str) -> bytes:
    """A compressed body that inflates to BOMB zeros."""
    if kind == "zstd":
        maker = zstandard.ZstdCompressor(level=1).compressobj()
        return b"".join(maker.compress(bytes(MIB)) for _ in range(BOMB // MIB)) + maker.flush()
    if kind == "br":
        slow = brotli.Compressor(quality=1)
        return b"".join(slow.process(bytes(MIB)) for _ in range(BOMB // MIB)) + bytes(slow.finish())
    bits = {"gzip": 31, "deflate": 15}[kind.removeprefix("double-")]
    fast = zlib.compressobj(1, wbits=bits)
    body = b"".join(fast.compress(bytes(MIB)) for _ in range(BOMB // MIB)) + fast.flush()
    return gzip.compress(body, 1) if kind.startswith("double-") else body


@page
async def bombs(reply: Reply) -> None:
    """The bomb of ?kind=."""
    kind = reply.asked.query["kind"]
    encoding = kind if not kind.startswith("double-") else "gzip, gzip"
    await reply.whole(bomb(kind), f"Content-Encoding: {encoding}")


# Encodings


@page
async def encoded(reply: Reply) -> None:
    """The page in the encoding of ?kind=."""
    raw = zlib.compressobj(wbits=-15)
    kind = reply.asked.query["kind"]
    body = {
        "gzip": gzip.compress(HTML),
        "deflate": zlib.compress(HTML),
        "raw-deflate": raw.compress(HTML) + raw.flush(),
        "br": brotli.compress(HTML),
        "zstd": zstandard.compress(HTML),
        "two-members": gzip.compress(HTML[:20]) + gzip.compress(HTML[20:]),
        "padded": gzip.compress(HTML) + bytes(100),
        "gzip, br": brotli.compress(gzip.compress(HTML)),
        "identity": HTML,
        "": HTML,
    }[kind]
    name = {"raw-deflate": "deflate", "two-members": "gzip", "padded": "gzip"}.get(kind, kind)
    await reply.whole(body, f"Content-Encoding: {name}")


@page
async def no_gzip(reply: Reply) -> None:
    await reply.whole(HTML, f"Content-Encoding: {reply.asked.query.get('kind', 'gzip')}")


@page
async def half_gzip(reply: Reply) -> None:
    body = gzip.compress(bytes(range(256)) * 100)
    await reply.whole(body[: len(body) // 2], "Content-Encoding: gzip")


@page
async def strange_encoding(reply: Reply) -> None:
    await reply.whole(HTML, "Content-Encoding: x-rot13")


# Broken framing


@page
async def too_short(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Content-Length: 1000")
    await reply.raw(HTML)


@page
async def too_long(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", f"Content-Length: {len(HTML)}")
    await reply.raw(HTML + b"and more than was announced")


@page
async def half_chunk(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"1000\r\n" + HTML)


@page
async def bad_chunk(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"zzzz\r\n" + HTML)


@page
async def two_lengths(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Content-Length: 5", "Content-Length: 7")
    await reply.raw(HTML)


@page
async def garbage(reply: Reply) -> None:
    await reply.raw(bytes(range(256)) * 20)


@page
async def old_http(reply: Reply) -> None:
    """HTTP/0.9: a body without a head."""
    await reply.raw(HTML)


@page
async def no_answer(reply: Reply) -> None:
    """The connection is closed without a word."""


@page
async def half_head(reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConte")


@page
async def strange_headers(reply: Reply) -> None:
    await reply.raw(
        b"HTTP/1.1 200\r\nX-Empty:\r\nX-Bytes: \xe9\xff\r\nX-Folded: a\r\n b\r\n"
        b"Content-Type: nonsense\r\nContent-Length: %d\r\n\r\n%s" % (len(HTML), HTML)
    )
    reply.keep = True


@page
async def no_colon(reply: Reply) -> None:
    await reply.whole(HTML, "no colon here")


@page
async def hints(reply: Reply) -> None:
    await reply.raw(b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
    await reply.whole(HTML)


@page
async def trailers(reply: Reply) -> None:
    await reply.head("Content-Type: text/html", "Transfer-Encoding: chunked")
    await reply.raw(b"%x\r\n%s\r\n0\r\nX-Trailer: late\r\n\r\n" % (len(HTML), HTML))
    reply.keep = True


# Redirects


@page
async def to(reply: Reply) -> None:
    """A redirect to ?url=."""
    await reply.redirect(unquote(reply.asked.query["url"]))


@page
async def loop(reply: Reply) -> None:
    await reply.redirect("/loop")


@page
async def ping(reply: Reply) -> None:
    await reply.redirect("/pong")


@page
async def pong(reply: Reply) -> None:
    await reply.redirect("/ping")


@page
async def chain(reply: Reply) -> None:
    """?n= redirects, then the page."""
    left = int(reply.asked.query["n"])
    if left:
        await reply.redirect(f"/chain?n={left - 1}", status="301 Moved Permanently")
    else:
        await ok(reply)


@page
async def slow_chain(reply: Reply) -> None:
    """Redirects that each take a little, to a new place every time."""
    await asyncio.sleep(0.1)
    await reply.redirect(f"/slow-chain?n={int(reply.asked.query.get('n', '0')) + 1}")


@page
async def cookie_wall(reply: Reply) -> None:
    """A redirect to itself until its cookie comes back."""
    if reply.asked.headers.get("cookie") == "seen=yes":
        await ok(reply)
    else:
        await reply.redirect("/cookie-wall", "Set-Cookie: seen=yes; Path=/; HttpOnly")


@page
async def large_redirect(reply: Reply) -> None:
    await reply.head("Location: /ok", "Transfer-Encoding: chunked", status="302 Found")
    while True:
        await reply.raw(b"10000\r\n" + b"a" * 65536 + b"\r\n")
