"""Bodies that come in pieces: inflated when they are gzip, cut into lines."""

import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

__all__ = ["BadPieces", "gunzipped", "lines"]

GZIP: Final = b"\x1f\x8b"
PIECE: Final = 1 << 16
LONGEST_LINE: Final = 65_536


class BadPieces(Exception):
    """The body cannot be read any further; the text says why."""


async def gunzipped(pieces: AsyncIterable[bytes], limit: int) -> AsyncIterator[bytes]:
    """The pieces, inflated if they begin as gzip does, whatever name they came under; the first `limit`
    bytes, then BadPieces if there are more. A file of several gzip members is one body."""
    inflater = None
    start = b""
    decided = False
    total = 0
    async for piece in pieces:
        if not decided:
            start += piece
            if len(start) < len(GZIP):
                continue
            decided, piece = True, start
            inflater = zlib.decompressobj(31) if piece.startswith(GZIP) else None
        if inflater is None:
            total += len(piece)
            yield _fitting(piece, total, limit)
            _check(total, limit)
            continue
        while piece:
            try:
                out = inflater.decompress(piece, PIECE)
            except zlib.error as error:
                raise BadPieces(f"not whole gzip: {error}") from None
            total += len(out)
            if out:
                yield _fitting(out, total, limit)
            _check(total, limit)
            piece = inflater.unconsumed_tail
            if inflater.eof:
                piece = inflater.unused_data
                if not piece.startswith(GZIP):
                    break  # padding, if anything
                inflater = zlib.decompressobj(31)
    if not decided and start:
        yield start
    elif inflater is not None and not inflater.eof:
        raise BadPieces("the gzip body is cut off")


def _fitting(piece: bytes, total: int, limit: int) -> bytes:
    return piece if total <= limit else piece[: limit - total]


def _check(total: int, limit: int) -> None:
    if total > limit:
        raise BadPieces(f"more than {limit} bytes")


async def lines(pieces: AsyncIterable[bytes]) -> AsyncIterator[list[str]]:
    """The lines of a text, some at a time, without their ends. UTF-8, or UTF-16 with its mark; what
    cannot be decoded becomes U+FFFD. A line longer than any URL is cut."""
    rest = ""
    decoder = None
    async for piece in pieces:
        if decoder is None:
            wide = piece.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            decoder = getincrementaldecoder("utf-16" if wide else "utf-8-sig")("replace")
        found = (rest + decoder.decode(piece)).splitlines(keepends=True)
        rest = found.pop() if found and not found[-1].endswith("\n") else ""
        if len(rest) > LONGEST_LINE:
            rest = rest[:LONGEST_LINE]
        if found:
            yield [line.rstrip("\r\n") for line in found]
    if decoder is not None:
        rest += decoder.decode(b"", True)
    if rest:
        yield [rest]
