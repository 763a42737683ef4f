"""Sitemaps, read as they come, in constant memory.

XML (a urlset, or an index of further sitemaps) is read by `sitemap_xml`. Anything that does not start
like XML is a text sitemap: one URL a line. Both may be gzip, whatever their name says.
"""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from fyke.jobs.pieces import BadPieces, gunzipped, lines
from fyke.jobs.sitemap_xml import UTF8_MARK, UTF16_MARKS, Entry, Report, SitemapXml

__all__ = ["MAX_BYTES", "Entry", "Report", "read_sitemap"]

MAX_BYTES: Final = 256 << 20  # inflated; the protocol allows 50 MB, some sites do not mind
HEAD: Final = 256
SCHEMES: Final = ("http://", "https://")


async def read_sitemap(
    pieces: AsyncIterable[bytes], report: Report, limit: int = MAX_BYTES
) -> AsyncIterator[list[Entry]]:
    """The entries of a sitemap, some at a time, in their order. When they are through, `report` says
    what could not be read, and whether the sitemap was read completely."""
    body = gunzipped(pieces, limit)
    try:
        head = await _head(body)
        if not head.removeprefix(UTF8_MARK).strip():
            report.lose("the sitemap is empty")
            return
        whole = _joined(head, body)
        found = _xml(whole, report) if _starts_like_xml(head) else _text(whole, report)
        async for entries in found:
            if entries:
                yield entries
    except BadPieces as problem:
        report.lose(str(problem))


async def _xml(pieces: AsyncIterable[bytes], report: Report) -> AsyncIterator[list[Entry]]:
    parser = SitemapXml(report)
    try:
        async for piece in pieces:
            parser.feed(piece)
            yield parser.taken()
        parser.close()
    except BadPieces:
        yield parser.taken()
        raise
    yield parser.taken()


async def _text(pieces: AsyncIterable[bytes], report: Report) -> AsyncIterator[list[Entry]]:
    first = True
    async for some in lines(pieces):
        entries = [Entry(line) for raw in some if (line := raw.strip()) and not line.startswith("#")]
        if entries and first:
            first = False
            if not entries[0].loc.lower().startswith(SCHEMES):
                raise BadPieces("not a sitemap: neither XML nor a list of URLs")
        yield entries
    report.ended = True


async def _head(pieces: AsyncIterator[bytes]) -> bytes:
    head = b""
    async for piece in pieces:
        head += piece
        if len(head) >= HEAD:
            break
    return head


async def _joined(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for piece in rest:
        yield piece


def _starts_like_xml(head: bytes) -> bool:
    if head.startswith(UTF16_MARKS):
        head = head[2:].replace(b"\0", b"")
    return head.removeprefix(UTF8_MARK).lstrip().startswith(b"<")
