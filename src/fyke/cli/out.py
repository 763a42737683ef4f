"""What a crawl leaves in its `--out`: copies of the job's exports, and what it says of those that are not its
own."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from fyke.cli.called import program
from fyke.core import ids
from fyke.core.errors import FykeError
from fyke.core.job import EXPORT_TYPES
from fyke.export.write import SUFFIXES
from fyke.objects.protocol import ObjectStore
from fyke.store.exports import list_exports
from fyke.store.jobs import Job
from fyke.wiring import Base

__all__ = ["Out", "bring_out"]


class Out(Struct, frozen=True):
    """The job's exports that are in the directory, those there that earlier crawls left, and which exports
    the job has made. A job that read no page leaves the files of an earlier crawl as they are."""

    files: list[Path] = []
    earlier: list[Path] = []
    made: frozenset[tuple[str, str]] = frozenset()


async def bring_out(base: Base, job: Job, out: Path) -> Out:
    """Copy the job's exports to where the person wants them."""
    exports = await base.database.read(lambda conn: list_exports(conn, job.id, None, 100))
    made = frozenset((export.type, export.format) for export in exports)
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    there = await asyncio.to_thread(_there, out)
    if there and not job.succeeded:
        return Out([], there, made)
    files = []
    for export in exports:
        file = out / _name(export.type, export.format)
        try:
            await _copy(base.objects, export.object, file)
        except OSError as error:
            listed = f"{program()} exports list --job {ids.public(job.id)}"
            kept = f"they are kept: {listed}, then {program()} exports get ID"
            raise FykeError(f"the exports cannot be copied to {file}: {error.strerror}; {kept}") from error
        files.append(file)
    return Out(sorted(files), _without(there, files), made)


def _name(kind: str, format: str) -> str:
    return f"{kind}{SUFFIXES[format]}"


def _there(out: Path) -> list[Path]:
    """The exports in a directory, by their names."""
    files = [out / _name(kind, format) for kind in EXPORT_TYPES for format in SUFFIXES]
    return sorted(file for file in files if file.is_file())


def _without(files: Iterable[Path], some: Iterable[Path]) -> list[Path]:
    left_out = set(some)
    return [file for file in files if file not in left_out]


async def _copy(objects: ObjectStore, key: str, file: Path) -> None:
    """Replace the file as a whole, so that nobody reads half of it."""
    part = file.with_name(f".{file.name}.part")
    with part.open("wb") as written:
        async for piece in await objects.open(key):
            await asyncio.to_thread(written.write, piece)
    part.replace(file)
