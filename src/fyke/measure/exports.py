"""Exports of a large job from the store, each made by a process of its own: `python -m
fyke.measure.exports DATA_DIR DATABASE_URL JOB TYPE FORMAT` is one. What is timed is what a user waits for:
reading, writing, putting the file into the object store, registering it.

The csv module writing the same rows, alone, is the yardstick to compare machines by.
"""

import asyncio
import csv
import os
import sys
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from fyke.core.clock import monotonic
from fyke.core.errors import FykeError
from fyke.core.job import JobOptions
from fyke.core.outcome import PageRow
from fyke.export.rows import READ, PageRecord
from fyke.measure.common import peak_mb, place
from fyke.measure.rows import page_rows
from fyke.settings import Settings
from fyke.settings import load as load_settings
from fyke.store.conn import Conn, Row
from fyke.store.effects import PAGE_COLUMNS
from fyke.store.jobs import NewJob, create_job
from fyke.store.migrate import migrate
from fyke.wiring import Base, open_base

__all__ = ["ExportLoad", "measure_exports"]

EXPORTS = (("full", "csv"), ("full", "jsonl"), ("full", "xlsx"))
CHUNK = 1_000
LONGEST = 300.0  # seconds that one export may take


class ExportLoad(Struct, frozen=True):
    """What to export, and how often. An empty database URL means SQLite in a temporary directory."""

    database_url: str = ""
    rows: int = 200_000
    rounds: int = 3


class Made(Struct, frozen=True):
    """One export: how long it took, the most memory its process had, and what came of it."""

    seconds: float
    max_rss_mb: float
    rows: int
    bytes: int


async def measure_exports(settings: Settings, load: ExportLoad) -> dict[str, Any]:
    """Fill a job with pages, export it in each format some times, and say what the median took."""
    with place() as folder:
        settings = _settings(settings, folder, load.database_url)
        await migrate(settings.store_url)
        base = await open_base(settings)
        await base.start()
        try:
            job = await _fill(base, load.rows)
        finally:
            await base.stop()
        found: dict[str, Any] = {"database": base.database.name, "rows": load.rows, "rounds": load.rounds}
        for kind, format in EXPORTS:
            one = (folder, settings.store_url, job, kind, format)
            runs = [await _export(*one) for _ in range(load.rounds)]
            if any(run.rows != load.rows for run in runs):
                raise FykeError(f"{format}: {runs[0].rows} rows instead of {load.rows}")
            found[f"{format}_seconds"] = round(median(run.seconds for run in runs), 3)
            found[f"{format}_max_rss_mb"] = max(run.max_rss_mb for run in runs)
            found[f"{format}_megabytes"] = round(runs[0].bytes / 1e6, 1)
        found["csv_module_seconds"] = await asyncio.to_thread(_yardstick, folder / "yardstick", load.rows)
        return found


def _settings(settings: Settings, folder: Path, database_url: str) -> Settings:
    return settings.model_copy(update={"data_dir": folder, "database_url": database_url, "objects_dir": ""})


async def _fill(base: Base, rows: int) -> int:
    new = NewJob("bench", "pages", os.urandom(16), "shop.example", JobOptions(max_urls=0))
    job = await base.database.write(lambda conn: create_job(conn, new))
    pages = page_rows(rows)
    while some := [_columns(job, page) for page in islice(pages, CHUNK)]:
        await base.database.write(partial(_insert, rows=some))
    return job


async def _insert(conn: Conn, rows: Sequence[Row]) -> None:
    await conn.insert("pages", PAGE_COLUMNS, rows)


def _columns(job: int, page: PageRow) -> Row:
    cells = msgspec.structs.asdict(page) | {"job": job, "task": page.seq}
    values = [cells[column] for column in PAGE_COLUMNS]
    return tuple(value.decode() if isinstance(value, bytes) else value for value in values)


async def _export(folder: Path, database_url: str, job: int, kind: str, format: str) -> Made:
    """One export in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fyke.measure.exports", str(folder), database_url, str(job), kind, format),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONGEST):
            output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise FykeError(f"the export as {format} ended with {process.returncode}")
    return msgspec.json.decode(output, type=Made)


async def _made(folder: str, database_url: str, job: str, kind: str, format: str) -> Made:
    base = await open_base(_settings(load_settings(), Path(folder), database_url))
    await base.start()
    try:
        began = monotonic()
        export = await base.export(int(job), kind, format)
        seconds = monotonic() - began
    finally:
        await base.stop()
    return Made(seconds, peak_mb(), export.row_count, export.size_bytes)


def _yardstick(path: Path, rows: int) -> float:
    """Seconds that the csv module takes for the writing alone."""
    pages = page_rows(rows)
    fields = PageRecord._fields
    seconds = 0.0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        while some := list(islice(pages, CHUNK)):
            columns = READ["full"]([[getattr(page, field) for field in fields] for page in some])
            lines = list(zip(*columns, strict=True))
            began = monotonic()
            writer.writerows(lines)
            seconds += monotonic() - began
    return round(seconds, 3)


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(asyncio.run(_made(*sys.argv[1:]))).decode())
