"""`fyke doctor`: is everything there that Fyke needs, and what is missing?"""

import resource
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated

import typer
from msgspec import Struct

from fyke import __version__
from fyke.cli.called import typed
from fyke.cli.exits import Exit
from fyke.cli.run import configured, run
from fyke.cli.show import print_json, say
from fyke.core.errors import FykeError
from fyke.core.extras import PYARROW, how_to_install
from fyke.fetch.multi import client_library
from fyke.settings import Settings
from fyke.store.migrate import check as check_schema
from fyke.store.sqlite_thread import embedded_library
from fyke.wiring import check_database_file, load_policies

__all__ = ["register"]

LEAST_FREE = 500 * 1024 * 1024
LEAST_FILES = 1024


class Finding(Struct, frozen=True):
    """One thing looked at."""

    name: str
    state: str  # ok, note, wrong
    detail: str


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")] = False,
) -> int:
    """Look at what Fyke runs on, and say what is missing. Ends with 1 if something is wrong."""
    found = _look(configured(quiet=True))
    if as_json:
        print_json({"ok": all(f.state != "wrong" for f in found), "findings": found})
    else:
        for one in found:
            mark = {"ok": "ok   ", "note": "note ", "wrong": "wrong"}[one.state]
            say(f"{mark}  {one.name}: {one.detail}")
    return Exit.FAILED if any(f.state == "wrong" for f in found) else Exit.DONE


def _look(settings: Settings) -> list[Finding]:
    return [
        Finding("fyke", "ok", f"{__version__} on Python {sys.version.split()[0]}"),
        Finding("libraries", "ok", f"{embedded_library()}, {client_library()}"),
        _data_dir(settings),
        _objects(settings),
        _database(settings),
        _policies(settings),
        _files(),
        Finding(
            "guard", "ok", f"allowed beyond public addresses: {', '.join(settings.egress_allow) or 'nothing'}"
        ),
        _optional("parquet exports", "pyarrow", PYARROW),
    ]


def _data_dir(settings: Settings) -> Finding:
    directory = settings.data_dir.absolute()
    reason = _why_unwritable(directory)
    if reason:
        return Finding("data directory", "wrong", reason)
    free = shutil.disk_usage(directory).free
    state = "ok" if free >= LEAST_FREE else "wrong"
    return Finding("data directory", state, f"{directory}, {free // 1024**2} MB free")


def _objects(settings: Settings) -> Finding:
    directory = settings.objects_path.absolute()
    reason = _why_unwritable(directory)
    return Finding("objects", "wrong" if reason else "ok", reason or f"{directory}")


def _why_unwritable(directory: Path) -> str | None:
    """Why no file can be made in the directory; only the attempt tells."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{directory} cannot be made: {error.strerror}"
    try:
        with TemporaryFile(dir=directory):
            return None
    except OSError as error:
        return f"{directory} cannot be written to: {error.strerror}"


def _database(settings: Settings) -> Finding:
    kind = settings.store_url.split(":", 1)[0]
    try:
        check_database_file(settings)
        there = run(check_schema(settings.store_url))
    except FykeError as error:
        return Finding("database", "wrong", error.message)
    if there:
        return Finding("database", "ok", f"{kind}, at this version's schema")
    if not settings.embedded:
        return Finding(
            "database", "wrong", typed(f"{kind}, not at this version's schema: run `fyke db migrate`")
        )
    reason = _why_unwritable(settings.database_file.absolute().parent)
    if reason:
        return Finding("database", "wrong", reason)
    return Finding("database", "ok", f"{kind}, made when it is first needed")


def _policies(settings: Settings) -> Finding:
    try:
        policies = load_policies(settings)
    except FykeError as error:
        return Finding("policies", "wrong", error.message)
    return Finding("policies", "ok", f"{len(policies.policies)} beside the default")


def _files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    state = "ok" if soft >= LEAST_FILES else "note"
    return Finding("open files", state, f"at most {soft}; {LEAST_FILES} or more are good")


def _optional(name: str, module: str, requirement: str) -> Finding:
    if find_spec(module) is not None:
        return Finding(name, "ok", "available")
    return Finding(name, "note", f"not installed: {how_to_install(requirement)}")


def register(app: typer.Typer) -> None:
    app.command()(doctor)
