"""Migrations: run by `fyke db migrate`, and on an embedded database by every command that opens it, if it is
empty or older.

The version a database is at is read without the tools that migrate it: they take longer to load than
most commands take, and are seldom needed.
"""

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from fyke.core.errors import SchemaTooNew, StoreError
from fyke.store.conn import Conn
from fyke.store.open import database_for

__all__ = ["check", "current", "head", "migrate"]

SCRIPTS = Path(__file__).parent / "migrations" / "versions"


def versions() -> list[str]:
    """The versions this code knows, in order: each script is named by its own."""
    return sorted(path.name.split("_", 1)[0] for path in SCRIPTS.glob("[0-9]*_*.py"))


def head() -> str:
    """The newest version this code knows."""
    return versions()[-1]


async def current(url: str) -> str | None:
    """The version a database is at; None when it is empty."""
    if url.startswith("sqlite"):
        return _sqlite_version(Path(url.split("sqlite:///", 1)[-1]))
    database = database_for(url, connections=2)
    await database.open()
    try:
        schema = "current_schema()" if database.name == "postgres" else "database()"
        return await database.read(lambda conn: _version(conn, schema))
    finally:
        await database.close()


async def _version(conn: Conn, schema: str) -> str | None:
    tables = await conn.fetch(
        "SELECT 1 FROM information_schema.tables"
        f" WHERE table_name = 'alembic_version' AND table_schema = {schema}"
    )
    if not tables:
        return None
    rows = await conn.fetch("SELECT version_num FROM alembic_version")
    return str(rows[0][0]) if rows else None


def _sqlite_version(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with closing(sqlite3.connect(path)) as raw:
            rows = raw.execute("SELECT version_num FROM alembic_version").fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise StoreError(f"SQLite: {error}") from error
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is not a database of Fyke: {error}") from error
    return str(rows[0][0]) if rows else None


async def check(url: str) -> bool:
    """Whether the database is at this code's version; SchemaTooNew when it is beyond."""
    version = await current(url)
    if version is not None and version not in versions():
        raise SchemaTooNew(
            f"the database is at schema {version}, this Fyke knows up to {head()}: use a newer Fyke",
            database=version,
            known=head(),
        )
    return version == head()


async def migrate(url: str) -> str:
    """Bring a database to this code's version; running it again changes nothing."""
    if not await check(url):
        tools = cast(Any, import_module("fyke.store.alembic_tools"))  # see the module's text
        await tools.upgrade(url)
    return head()
