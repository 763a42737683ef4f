"""Content encodings, inflated piece by piece, so that a bomb never unfolds beyond one piece.

A piece holds at most PIECE bytes (zstd: a little more, see there). Who reads pieces counts them, and
stops reading when it is enough.
"""

from collections.abc import Iterator
from typing import Final, Protocol

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard

try:
    from zlib_ng import zlib_ng as zlib  # a 30 KB page in 32 µs, where zlib takes 109
except ImportError:  # no wheel for this machine
    import zlib  # type: ignore[no-redef]  # the same functions

__all__ = ["ACCEPT_ENCODING", "BadEncoding", "Inflater", "inflater"]

ZLIB_ERROR: Final[type[Exception]] = zlib.error  # type: ignore[assignment]  # typed as an instance
ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
PIECE: Final = 256 * 1024
MOST_LAYERS: Final = 2
ZSTD_SLICE: Final = 512
ZSTD_WINDOW: Final = 8 * 1024 * 1024  # the most that RFC 9659 lets a server use
GZIP_MAGIC: Final = b"\x1f\x8b"


class BadEncoding(Exception):
    """The body is not what its Content-Encoding says."""


class Inflater(Protocol):
    """Takes compressed bytes, gives what they hold. `whole` says that the stream has come to its end."""

    @property
    def whole(self) -> bool: ...

    def feed(self, data: bytes) -> Iterator[bytes]: ...


class Zlib:
    """gzip (of several members, too) and deflate (with and without zlib's header)."""

    def __init__(self, gzip: bool) -> None:
        self._gzip = gzip
        self._object: zlib._Decompress | None = None
        self._held = b""
        self._ended = False  # the first member, or the only stream, is behind us
        self.whole = True  # an empty body is a whole one

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._object is None:
                data = self._held + data
                self._held = b""
                if self._ended and not (self._gzip and GZIP_MAGIC.startswith(data[:2])):
                    return  # padding after the end, which browsers drop too
                if len(data) < 2:  # too little to tell what it is
                    self._held = data
                    self.whole = self._ended
                    return
                self._object = zlib.decompressobj(31 if self._gzip else _deflate_bits(data))
                self.whole = False
            yield from self._inflate(self._object, data)
            data = self._object.unused_data
            if self._object.eof:
                self._object = None
                self._ended = self.whole = True

    def _inflate(self, stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
        while True:
            try:
                piece = stream.decompress(data, PIECE)
            except ZLIB_ERROR as error:
                raise BadEncoding(str(error)) from None
            if piece:
                yield piece
            data = stream.unconsumed_tail
            if stream.eof or (not data and len(piece) < PIECE):
                return


def _deflate_bits(data: bytes) -> int:
    """By its name it means zlib's format; some servers send it without its header, and browsers take both."""
    zlib_header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return 15 if zlib_header else -15


class Brotli:
    def __init__(self) -> None:
        self._object = brotli.Decompressor()
        self._begun = False

    @property
    def whole(self) -> bool:
        return not self._begun or bool(self._object.is_finished())

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._begun = True
        while not self._object.is_finished():
            try:
                piece = self._object.process(data, output_buffer_limit=PIECE)
            except brotli.error as error:
                raise BadEncoding(str(error)) from None
            if piece:
                yield piece
            if len(piece) < PIECE and self._object.can_accept_more_data():
                return
            data = b""


class Zstd:
    """Its decompressor gives all that it can at once, and four bytes can stand for 128 KiB: it is fed in
    slices that hold 16 MiB at the very most."""

    def __init__(self) -> None:
        self._maker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
        self._object = self._maker.decompressobj()
        self.whole = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        start = 0
        while start < len(data):
            if self._object.eof:  # a stream may be several frames
                self._object = self._maker.decompressobj()
            part = data[start : start + ZSTD_SLICE]
            start += len(part)
            try:
                piece = self._object.decompress(part)
            except zstandard.ZstdError as error:
                raise BadEncoding(str(error)) from None
            self.whole = bool(self._object.eof)
            if self.whole:
                start -= len(self._object.unused_data)
            if piece:
                yield piece


class Chain:
    """Encodings applied one upon the other."""

    def __init__(self, outer: Inflater, inner: Inflater) -> None:
        self._outer = outer
        self._inner = inner

    @property
    def whole(self) -> bool:
        return self._outer.whole and self._inner.whole

    def feed(self, data: bytes) -> Iterator[bytes]:
        for piece in self._outer.feed(data):
            yield from self._inner.feed(piece)


def _single(name: str) -> Inflater:
    match name:
        case "gzip" | "x-gzip":
            return Zlib(gzip=True)
        case "deflate":
            return Zlib(gzip=False)
        case "br":
            return Brotli()
        case "zstd":
            return Zstd()
    raise BadEncoding(f"unknown content encoding {name[:40]!r}")


def inflater(content_encoding: str | None) -> Inflater | None:
    """What undoes the Content-Encoding; None when there is nothing to undo. BadEncoding when it is one we
    do not know."""
    names = [name for raw in (content_encoding or "").split(",") if (name := raw.strip().lower())]
    names = [name for name in names if name != "identity"]
    if len(names) > MOST_LAYERS:
        raise BadEncoding(f"{len(names)} content encodings, one upon the other")
    result: Inflater | None = None
    for name in names:  # the last one named was applied last, and is undone first
        layer = _single(name)
        result = layer if result is None else Chain(layer, result)
    return result
