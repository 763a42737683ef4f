"""`fyke exports`: list them, make them, fetch them."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fyke.cli.api import reach
from fyke.cli.arguments import ExportId, JobId, OneJob
from fyke.cli.run import configured, run
from fyke.cli.show import moment, print_json, print_rows, say
from fyke.core.errors import Invalid

__all__ = ["register"]

exports = typer.Typer(help="List, make and fetch exports.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@exports.command("list")
def list_all(
    job: OneJob = None,
    limit: Annotated[int, typer.Option(min=1, help="The most rows shown.")] = 50,
    as_json: Json = False,
) -> None:
    """List exports, the newest first."""
    found = run(_list(f"/jobs/{job}/exports" if job else "/exports", limit))
    if as_json:
        print_json(found)
        return
    rows = [
        (
            x["id"],
            x["type"],
            x["format"],
            x["size_bytes"],
            x["row_count"],
            moment(x["created_at"]),
            x["job_id"],
        )
        for x in found
    ]
    print_rows(("=id", "type", "format", "bytes", "rows", "+created", "+job"), rows)


async def _list(path: str, limit: int) -> list[Any]:
    async with reach(configured(quiet=True)) as api:
        return [item async for item in api.every(path, limit)]


@exports.command("make")
def make(
    job: JobId,
    kind: Annotated[str, typer.Option("--type", help="full, seo or diff.")] = "full",
    format: Annotated[str, typer.Option(help="csv, xlsx, json, jsonl, parquet or warc.")] = "csv",
    as_json: Json = False,
) -> None:
    """Write an export of what the job has by now."""
    found = run(_make(job, kind, format))
    if as_json:
        print_json(found)
    else:
        say(f"{found['id']}: {found['row_count']} rows, {found['size_bytes']} bytes")


async def _make(job: str, kind: str, format: str) -> Any:
    async with reach(configured(quiet=True)) as api:
        return await api.call("POST", f"/jobs/{job}/exports", {"type": kind, "format": format})


@exports.command("get")
def get(
    export: ExportId,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="The file, or a directory to put it in under its own name; - is standard output.",
        ),
    ] = ".",
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Fetch an export into a file."""
    file = run(_get(export, out, force))
    if file is None:
        return
    if as_json:
        print_json({"file": str(file)})
    else:
        say(str(file))


async def _get(export: str, out: str, force: bool) -> Path | None:
    async with reach(configured(quiet=True)) as api:
        found = await api.call("GET", f"/exports/{export}")
        file = None if out == "-" else await asyncio.to_thread(_file, out, found["filename"])
        if file is not None and not force and await asyncio.to_thread(file.exists):
            raise Invalid(
                f"{file} is there already: --force overwrites it, --out names another", field="--out"
            )
        body = await api.raw("GET", f"/exports/{export}/download")
    if file is None:
        sys.stdout.buffer.write(body)
        sys.stdout.flush()
    else:
        await asyncio.to_thread(file.write_bytes, body)
    return file


def _file(out: str, name: str) -> Path:
    """Where the export goes; a directory that is named as one is made."""
    if out.endswith("/"):
        Path(out).mkdir(parents=True, exist_ok=True)
    return Path(out) / name if Path(out).is_dir() else Path(out)


def register(app: typer.Typer) -> None:
    app.add_typer(exports, name="exports")
