"""Migrations: run by `fyke db migrate`, and by `serve` and `crawl` on an empty embedded database."""

import asyncio
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, pool
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from fyke.core.errors import SchemaTooNew, StoreError

__all__ = ["check", "current", "head", "migrate"]

SCRIPTS = Path(__file__).parent / "migrations"


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The newest version this code knows."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


async def current(url: str) -> str | None:
    """The version a database is at; None when it is empty."""
    version: str | None = await _with_connection(
        url, lambda connection: MigrationContext.configure(connection).get_current_revision()
    )
    return version


async def check(url: str) -> bool:
    """Whether the database is at this code's version; SchemaTooNew when it is beyond."""
    version = await current(url)
    if version is not None and version not in _known():
        raise SchemaTooNew(
            f"the database is at schema {version}, this Fyke knows up to {head()}: use a newer Fyke",
            database=version,
            known=head(),
        )
    return version == head()


def _known() -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


async def migrate(url: str) -> str:
    """Bring a database to this code's version; running it again changes nothing."""
    if not await check(url):
        await _with_connection(url, lambda connection: command.upgrade(_config(connection), "head"))
    return head()


async def _with_connection(url: str, work: Any) -> Any:
    try:
        if url.startswith("sqlite"):
            return await asyncio.to_thread(_sqlite, url, work)
        engine = create_async_engine(_driver(url), poolclass=pool.NullPool)
        try:
            async with engine.begin() as connection:
                return await connection.run_sync(work)
        finally:
            await engine.dispose()
    except (OperationalError, OSError) as error:
        raise StoreError(f"the database cannot be reached: {error}") from error


def _sqlite(url: str, work: Any) -> Any:
    engine = create_engine(url, poolclass=pool.NullPool)
    try:
        with engine.begin() as connection:
            return work(connection)
    finally:
        engine.dispose()


def _driver(url: str) -> str:
    scheme, rest = url.split("://", 1)
    return f"{'postgresql+asyncpg' if scheme.startswith('postgres') else 'mysql+asyncmy'}://{rest}"
