"""A database by its URL. Its driver is loaded when it is asked for: the others need not be there."""

from importlib import import_module
from pathlib import Path
from typing import Any, cast

from fyke.core.errors import InvalidSetting
from fyke.store.conn import Database
from fyke.store.sqlite import SqliteDatabase

__all__ = ["database_for"]

SHARED = {
    "postgresql": ("fyke.store.postgres", "PostgresDatabase"),
    "postgres": ("fyke.store.postgres", "PostgresDatabase"),
    "mysql": ("fyke.store.mysql", "MysqlDatabase"),
    "mariadb": ("fyke.store.mysql", "MysqlDatabase"),
}


def database_for(url: str, *, synchronous: str = "FULL", connections: int = 6) -> Database:
    """sqlite:///relative/path, sqlite:////absolute/path, postgresql://…, mysql://… or mariadb://…"""
    scheme = url.split(":", 1)[0].split("+", 1)[0]
    if scheme == "sqlite":
        return SqliteDatabase(Path(url.split("sqlite:///", 1)[-1]), synchronous)
    if scheme in SHARED:
        module, name = SHARED[scheme]
        return cast(Database, cast(Any, getattr(import_module(module), name))(url, connections))
    raise InvalidSetting(
        f"no database for {scheme!r}: use sqlite, postgresql, mysql or mariadb", field="FYKE_DATABASE_URL"
    )
