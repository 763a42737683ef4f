"""A database by its URL."""

from pathlib import Path

from fyke.core.errors import InvalidSetting
from fyke.store.conn import Database
from fyke.store.mysql import MysqlDatabase
from fyke.store.postgres import PostgresDatabase
from fyke.store.sqlite import SqliteDatabase

__all__ = ["database_for"]


def database_for(url: str, *, synchronous: str = "FULL", connections: int = 6) -> Database:
    """sqlite:///relative/path, sqlite:////absolute/path, postgresql://…, mysql://… or mariadb://…"""
    scheme = url.split(":", 1)[0].split("+", 1)[0]
    if scheme == "sqlite":
        return SqliteDatabase(Path(url.split("sqlite:///", 1)[-1]), synchronous)
    if scheme in ("postgresql", "postgres"):
        return PostgresDatabase(url, connections)
    if scheme in ("mysql", "mariadb"):
        return MysqlDatabase(url, connections)
    raise InvalidSetting(
        f"no database for {scheme!r}: use sqlite, postgresql, mysql or mariadb", field="FYKE_DATABASE_URL"
    )
