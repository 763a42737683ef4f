"""The shop's HTTP server: keep-alive, conditional requests, compression, and answers made beforehand."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Final, cast

import httptools

from fyke.shop.answers import Answer

__all__ = ["Connection", "Find"]

Find = Callable[[str], Answer]

CLOSE: Final = b"Connection: close\r\n\r\n"
FAILURE: Final = Answer(b"<h1>The till is stuck</h1>", "text/html; charset=utf-8", 500)
REFUSAL: Final = Answer(b"", "text/plain", 405, headers={"Allow": "GET, HEAD"})
LONGEST_HEAD: Final = 65_536


class Connection(asyncio.Protocol):
    """One client. `find` gives the answer for a target, `hits` counts what was asked for."""

    def __init__(self, find: Find, hits: Counter[str], open_ones: "set[Connection]") -> None:
        self._find = find
        self._hits = hits
        self._open = open_ones
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiting: deque[tuple[bytes, float, bool]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes since the last whole request
        self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # as every stream server gives
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._open.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.abort()
        if self._unread > LONGEST_HEAD:
            self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # What the parser calls, in this order.

    def on_message_begin(self) -> None:
        self._begin()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"accept-encoding":
            self._gzip = b"gzip" in value
        elif name == b"if-none-match":
            self._etag = value

    def on_message_complete(self) -> None:
        self._unread = 0
        target = self._target.decode("latin-1").partition("#")[0]
        answer = self._find(target)
        self._hits[target] += 1
        close = not self._parser.should_keep_alive()
        self._send(self._form(answer, self._parser.get_method()), answer.delay, close)

    def _begin(self) -> None:
        self._target = b""
        self._etag = b""
        self._gzip = False

    def _form(self, answer: Answer, method: bytes) -> bytes:
        if method not in (b"GET", b"HEAD"):
            return REFUSAL.plain
        if answer.fails_first:
            answer.fails_first = False
            answer = FAILURE
        if self._etag and answer.knows(self._etag):
            return answer.unchanged
        if method == b"HEAD":
            return answer.bare
        return answer.squeezed if self._gzip else answer.plain

    def _send(self, data: bytes, delay: float, close: bool) -> None:
        """In the order of the requests, slow ones holding up those behind them."""
        if self._transport is None:
            return
        if self._timer is not None:
            self._waiting.append((data, delay, close))
        elif delay:
            self._transport.pause_reading()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, self._after, data, close)
        else:
            self._write(data, close)

    def _after(self, data: bytes, close: bool) -> None:
        self._timer = None
        if self._transport is None:
            return
        self._transport.resume_reading()
        self._write(data, close)
        while self._waiting and self._timer is None:
            self._send(*self._waiting.popleft())

    def _write(self, data: bytes, close: bool) -> None:
        if self._transport is None:
            return
        if close:
            self._transport.write(data.replace(b"\r\n\r\n", b"\r\n" + CLOSE, 1))
            self._transport.close()
        else:
            self._transport.write(data)
