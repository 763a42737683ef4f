"""Making one export of a job: pages are read by key, a thousand at a time, into a file that becomes an
object, which takes the place of the one before."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from fyke.core import clock
from fyke.core.errors import Conflict, JobNotFound, UnknownName
from fyke.core.ids import new_id, public
from fyke.core.job import EXPORT_FORMATS, EXPORT_TYPES, JobOptions
from fyke.core.outcome import SaveExport
from fyke.jobs.scratch import scratch
from fyke.objects.protocol import ObjectStore
from fyke.store.conn import Conn, Reading
from fyke.store.jobs import Job, get_job
from fyke.store.pages import read_changes, read_pages

__all__ = ["ExportParts", "Register", "Written", "export_job", "export_prefix", "exports_of", "make_export"]

T = TypeVar("T")

ROWS: Final = 1000
WARC: Final = "warc"  # whole pages: of the full export alone


class Written(Protocol):
    """How large an export became."""

    @property
    def rows(self) -> int: ...

    @property
    def bytes(self) -> int: ...


Write = Callable[[str, str, AsyncIterator[Sequence[Any]], Path], Awaitable[Written]]
Register = Callable[[SaveExport], Awaitable[T]]


class ExportParts(Struct, frozen=True):
    """What exports are made with; `write` is export.write.write. `directory` is where the files are
    written before they become objects."""

    database: Reading
    objects: ObjectStore
    write: Write
    directory: Path | None = None


def export_prefix(job: int) -> str:
    """Where a job's exports lie in the object store."""
    return f"exports/{public(job)}/"


def exports_of(formats: Iterable[str]) -> list[tuple[str, str]]:
    """Type and format of the exports that a job makes of its formats when it ends."""
    return [
        (kind, format)
        for kind in EXPORT_TYPES
        for format in dict.fromkeys(formats)
        if format != WARC or kind == "full"
    ]


def _check_kept(job: Job, kind: str, format: str) -> None:
    """Refuse a warc of a job whose bodies have not been kept: it would be empty."""
    if (kind, format) != ("full", WARC):
        return
    if WARC not in msgspec.json.decode(job.options, type=JobOptions).exports:
        raise Conflict(
            "bodies are kept only for jobs whose exports name warc when they are made: this job's do not"
        )


async def make_export(parts: ExportParts, job: int, kind: str, format: str) -> SaveExport:
    """Write the object; the row that registers it is for the caller to save."""
    if kind not in EXPORT_TYPES:
        raise UnknownName("export type", kind, EXPORT_TYPES)
    if format not in EXPORT_FORMATS:
        raise UnknownName("export format", format, EXPORT_FORMATS)
    name = f"{kind}.warc.gz" if format == WARC else f"{kind}.{format}"
    key = f"{export_prefix(job)}{name}"
    with scratch(parts.directory) as directory:
        path = directory / name
        batches = _batches(parts.database, job, WARC if format == WARC else kind)
        written = await parts.write(kind, format, batches, path)
        await parts.objects.put_file(key, path)
    return SaveExport(job, new_id(), kind, format, key, written.bytes, written.rows, clock.now())


async def export_job(parts: ExportParts, job: int, kind: str, format: str, register: Register[T]) -> T:
    """Make an export on demand, of whatever the job has by now. `register` takes it up, in a transaction of
    the caller's (see store.exports.register_made). If the job has been deleted by then, so are its exports,
    and this one was perhaps too late for that: it goes again."""
    _check_kept(await parts.database.read(lambda conn: get_job(conn, job)), kind, format)
    export = await make_export(parts, job, kind, format)
    try:
        return await register(export)
    except JobNotFound:
        await parts.objects.delete(export.object)
        raise


async def _batches(database: Reading, job: int, kind: str) -> AsyncIterator[Sequence[Any]]:
    after = -1
    while True:
        if kind == "diff":
            changes = await database.read(partial(_changes, job=job, after=after))
            if changes:
                yield changes
            if len(changes) < ROWS:
                return
            after = changes[-1].seq
        else:
            rows = await database.read(partial(_pages, job=job, after=after, kind=kind))
            if rows:
                yield rows
            if len(rows) < ROWS:
                return
            after = rows[-1][-1]


async def _changes(conn: Conn, job: int, after: int) -> Sequence[Any]:
    return await read_changes(conn, job, after, ROWS)


async def _pages(conn: Conn, job: int, after: int, kind: str) -> Sequence[Any]:
    return await read_pages(conn, job, after, ROWS, kind)
