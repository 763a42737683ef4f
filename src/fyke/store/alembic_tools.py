"""Running the migrations with alembic."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, inspect, pool
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from fyke.core.errors import StoreError

__all__ = ["upgrade", "with_connection"]

SCRIPTS = Path(__file__).parent / "migrations"
LOCK_WAIT = 300  # seconds

# One process migrates, the others wait for it and then find nothing to do. The lock goes with the
# transaction, or (MySQL's) with the connection; SQLite's is the transaction itself, which makes a
# migration whole or nothing there: its driver would begin none for a change of the schema.
LOCKS = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT pg_advisory_xact_lock(7236553214078)",
    "mysql": f"SELECT get_lock(concat('fyke.', left(sha2(database(), 256), 40)), {LOCK_WAIT})",
}

# As Alembic makes it, but for a name of the key: these databases have none for it, and warn of that.
VERSION = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"


async def upgrade(url: str) -> None:
    """Run what has not been run."""
    await with_connection(url, _upgrade)


def _upgrade(connection: Connection) -> None:
    answer = connection.exec_driver_sql(LOCKS[connection.dialect.name])
    if connection.dialect.name == "mysql" and answer.scalar() != 1:
        raise StoreError(f"another process has been migrating the database for {LOCK_WAIT} seconds")
    if connection.dialect.name == "mysql" and not inspect(connection).has_table("alembic_version"):
        connection.exec_driver_sql(VERSION)
    command.upgrade(config_for(connection), "head")


def config_for(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


async def with_connection(url: str, work: Callable[[Connection], Any]) -> Any:
    """Run `work` on a connection of SQLAlchemy, in one transaction."""
    try:
        if url.startswith("sqlite"):
            return await asyncio.to_thread(_sqlite, url, work)
        engine = create_async_engine(_driver(url), poolclass=pool.NullPool)
        try:
            async with engine.begin() as connection:
                return await connection.run_sync(work)
        finally:
            await engine.dispose()
    except OperationalError as error:  # what the driver said; SQLAlchemy adds lines to that
        raise StoreError(f"the database cannot be used: {error.orig}") from error
    except OSError as error:
        raise StoreError(f"the database cannot be reached: {error}") from error


def _sqlite(url: str, work: Callable[[Connection], Any]) -> Any:
    engine = create_engine(url, poolclass=pool.NullPool, connect_args={"timeout": LOCK_WAIT})
    try:
        with engine.begin() as connection:
            return work(connection)
    finally:
        engine.dispose()


def _driver(url: str) -> str:
    scheme, rest = url.split("://", 1)
    return f"{'postgresql+asyncpg' if scheme.startswith('postgres') else 'mysql+asyncmy'}://{rest}"
