"""A look into an embedded database while others work on it, or after they have died."""

import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["ask", "leased"]


def ask(database: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as raw:
        return raw.execute(sql).fetchall()


def leased(database: Path) -> set[object]:
    """The URLs that somebody has under a lease."""
    return {row[0] for row in ask(database, "SELECT url FROM tasks WHERE lease IS NOT NULL")}
