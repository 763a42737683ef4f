"""SQLite: one thread writes, another reads.

All writes of this process pass through one connection, so a transaction never waits for another of the
same process.
"""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from fyke.store.conn import Conn
from fyke.store.sqlite_thread import SqliteThread

__all__ = ["SqliteDatabase"]

T = TypeVar("T")


class SqliteDatabase:
    """See conn.Database. `synchronous` is FULL (every commit is on the disk) or NORMAL."""

    name = "sqlite"
    shared = False

    def __init__(self, path: Path, synchronous: str = "FULL") -> None:
        self.path = path
        self.synchronous = synchronous
        self.writer = SqliteThread("fyke-write", self._connect, writes=True)
        self.reader = SqliteThread("fyke-read", self._connect, writes=False)

    def _connect(self) -> sqlite3.Connection:
        raw = sqlite3.connect(self.path, isolation_level=None, cached_statements=512, timeout=10)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute(f"PRAGMA synchronous={self.synchronous}")
        raw.execute("PRAGMA cache_size=-32000")
        raw.execute("PRAGMA temp_store=MEMORY")  # what a bulk update puts aside needs no file
        raw.execute("PRAGMA wal_autocheckpoint=16000")
        raw.execute("PRAGMA journal_size_limit=134217728")
        return raw

    async def open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        await self.writer.start()
        await self.reader.start()

    async def close(self) -> None:
        await self.reader.stop()
        await self.writer.stop()

    async def read(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        return await self.reader.run(work)

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        return await self.writer.run(work, urgent=urgent)
