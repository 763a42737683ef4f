"""An answer of the shop's server, ready to be sent."""

import gzip
from collections.abc import Mapping
from hashlib import blake2b
from http import HTTPStatus
from typing import Final

__all__ = ["Answer"]

WORTH_SQUEEZING: Final = 1024


class Answer:
    """One resource. The bytes of all its forms are made once, the compressed one when first asked for.

    `delay` is how many seconds it takes; `fails_first` makes the first request for it a 500.
    """

    __slots__ = ("_body", "_etag", "_head", "_squeezed", "bare", "delay", "fails_first", "plain", "unchanged")

    def __init__(
        self,
        body: bytes,
        kind: str,
        status: int = 200,
        *,
        headers: Mapping[str, str] | None = None,
        delay: float = 0,
        fails_first: bool = False,
    ) -> None:
        self.delay = delay
        self.fails_first = fails_first
        self._body = body
        self._etag = f'W/"{blake2b(body, digest_size=8).hexdigest()}"'.encode() if status == 200 else b""
        given = "".join([f"{name}: {value}\r\n" for name, value in (headers or {}).items()])
        tag = f"ETag: {self._etag.decode()}\r\nCache-Control: no-cache\r\n" if self._etag else ""
        common = f"Server: hearth\r\nVary: Accept-Encoding\r\n{tag}{given}"
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        self._head = f"{line}{common}Content-Type: {kind}\r\n".encode()
        self.bare = self._head + b"Content-Length: %d\r\n\r\n" % len(body)
        self.plain = self.bare + body
        self.unchanged = f"HTTP/1.1 304 Not Modified\r\n{common}\r\n".encode()
        text = kind.startswith("text/") or kind.endswith("xml")
        self._squeezed: bytes | None = b"" if not text or len(body) < WORTH_SQUEEZING else None

    def knows(self, etag: bytes) -> bool:
        """Whether the asker has this already."""
        return bool(self._etag) and self._etag in etag

    @property
    def squeezed(self) -> bytes:
        """With the body compressed, where that pays."""
        if self._squeezed is None:
            body = gzip.compress(self._body, 6, mtime=0)
            extra = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
            self._squeezed = self._head + extra + body
        return self._squeezed or self.plain
