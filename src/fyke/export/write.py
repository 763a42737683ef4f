"""Exports as files, streamed: a batch is read, turned into columns, written, and forgotten.

The work on a batch happens in a thread, so that the event loop goes on meanwhile.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from msgspec import Struct

from fyke.core.errors import Invalid, UnknownName
from fyke.core.job import EXPORT_FORMATS, EXPORT_TYPES
from fyke.export.csvfile import CsvWriter
from fyke.export.jsonfile import JsonLinesWriter, JsonWriter
from fyke.export.parquet import ParquetWriter
from fyke.export.rows import COLUMNS, READ, Column, Columns
from fyke.export.warc import WarcWriter
from fyke.export.xlsx import XlsxWriter
from fyke.objects.local import full_disk
from fyke.objects.protocol import Readable

__all__ = ["MEDIA_TYPES", "SUFFIXES", "Written", "check_export", "write"]

Batches = AsyncIterator[Sequence[Any]]

MEDIA_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "warc": "application/warc",
}
SUFFIXES: Final = {format: f".{format}" for format in EXPORT_FORMATS} | {"warc": ".warc.gz"}


class Written(Struct, frozen=True):
    """How large an export became. `cut` cells were longer than the format holds, and `missing` bodies
    are no longer kept."""

    rows: int
    bytes: int
    cut: int = 0
    missing: int = 0


class Writer(Protocol):
    """A format of the flat table."""

    cut: int

    def add(self, columns: Columns) -> None:
        """Write the rows of a batch."""
        ...

    def close(self) -> None:
        """Write what comes after the last row."""
        ...


WRITERS: Final[dict[str, Callable[[BinaryIO, tuple[Column, ...]], Writer]]] = {
    "csv": CsvWriter,
    "xlsx": XlsxWriter,
    "json": JsonWriter,
    "jsonl": JsonLinesWriter,
    "parquet": ParquetWriter,
}


def check_export(kind: str, format: str) -> None:
    """Refuse what there is no export of."""
    if kind not in EXPORT_TYPES:
        raise UnknownName("export type", kind, EXPORT_TYPES)
    if format not in EXPORT_FORMATS:
        raise UnknownName("export format", format, EXPORT_FORMATS)
    if format == "warc" and kind != "full":
        raise Invalid("warc holds whole pages: there is only a full export of it", field="format")


async def write(
    kind: str, format: str, batches: Batches, path: Path, objects: Readable | None = None
) -> Written:
    """Write the export `kind` to `path`: from batches of PageRecord in the order of the job's list, or
    of Change for the diff. `objects` is where the bodies for warc are. Nothing is left at `path` when
    this fails."""
    check_export(kind, format)
    try:
        with full_disk(), await to_thread(path.open, "wb") as file:
            if format != "warc":
                return await _table(kind, format, batches, file)
            if objects is None:
                raise Invalid("a warc export needs the object store", field="format")
            return await _warc(batches, file, objects)
    except BaseException:
        await to_thread(path.unlink, True)
        raise


async def _table(kind: str, format: str, batches: Batches, file: BinaryIO) -> Written:
    read = READ[kind]
    writer = WRITERS[format](file, COLUMNS[kind])
    rows = 0

    def work(batch: Sequence[Any]) -> int:
        columns = read(batch)
        writer.add(columns)
        return len(columns[0])

    async for batch in batches:
        rows += await to_thread(work, batch)
    await to_thread(writer.close)
    return Written(rows, file.tell(), cut=writer.cut)


async def _warc(batches: Batches, file: BinaryIO, objects: Readable) -> Written:
    writer = WarcWriter(file, objects)
    async for batch in batches:
        await writer.add(batch)
    writer.close()
    return Written(writer.rows, file.tell(), missing=writer.missing)
