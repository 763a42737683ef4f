"""Exports as files, streamed: a batch is read, turned into columns, written, and forgotten.

The work on a batch happens in a thread, so that the event loop goes on meanwhile.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from msgspec import Struct

from fyke.core.errors import UnknownName
from fyke.core.job import EXPORT_TYPES
from fyke.export.csvfile import CsvWriter
from fyke.export.jsonfile import JsonLinesWriter, JsonWriter
from fyke.export.rows import COLUMNS, READ, Column, Columns
from fyke.export.xlsx import XlsxWriter
from fyke.objects.local import full_disk

__all__ = ["Written", "write"]


class Written(Struct, frozen=True):
    """How large an export became; `cut` cells were longer than the format holds."""

    rows: int
    bytes: int
    cut: int = 0


class Writer(Protocol):
    """One format."""

    cut: int

    def add(self, columns: Columns) -> None: ...

    def close(self) -> None: ...


WRITERS: Final[dict[str, Callable[[BinaryIO, tuple[Column, ...]], Writer]]] = {
    "csv": CsvWriter,
    "xlsx": XlsxWriter,
    "json": JsonWriter,
    "jsonl": JsonLinesWriter,
}


async def write(kind: str, format: str, batches: AsyncIterator[Sequence[Any]], path: Path) -> Written:
    """Write the export `kind` (full, seo, diff) to `path`: from batches of PageRecord, or of Change for
    the diff. When it fails nothing is left at `path`."""
    if kind not in EXPORT_TYPES:
        raise UnknownName("export type", kind, EXPORT_TYPES)
    if format not in WRITERS:
        raise UnknownName("export format", format, WRITERS)
    try:
        with full_disk():
            return await _write(kind, format, batches, path)
    except BaseException:
        await to_thread(path.unlink, True)
        raise


async def _write(kind: str, format: str, batches: AsyncIterator[Sequence[Any]], path: Path) -> Written:
    read = READ[kind]
    rows = 0

    def work(batch: Sequence[Any]) -> int:
        columns = read(batch)
        writer.add(columns)
        return len(columns[0])

    with await to_thread(path.open, "wb") as file:
        writer = WRITERS[format](file, COLUMNS[kind])
        async for batch in batches:
            rows += await to_thread(work, batch)
        await to_thread(writer.close)
        return Written(rows, file.tell(), writer.cut)
