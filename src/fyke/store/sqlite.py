"""SQLite: one thread writes, others read.

All writes of this process pass through one thread and one connection, so a transaction never waits
for another of the same process; urgent ones go first. A transaction's work is written as `async def`
like everywhere, but nothing in it ever suspends here: the thread steps it to its end. Bulk writes are
single statements with many rows, because each statement gives up and takes back the interpreter's
lock, which is what a thread beside a busy event loop must do seldom.
"""

import asyncio
import itertools
import queue
import re
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from fyke.core import clock
from fyke.core.errors import DiskFull, StoreBusy, StoreError
from fyke.store.conn import Conn, Row

__all__ = ["SqliteDatabase"]

T = TypeVar("T")
CHUNKS = (64, 16, 4, 1)  # rows in one statement: few shapes, so that each stays prepared
_PARAMETER = re.compile(r"(IN )?\$(\d+)")
_json = msgspec.json.Encoder()


@lru_cache(maxsize=512)
def translate(sql: str) -> tuple[str, frozenset[int]]:
    """The text for SQLite, and which parameters are lists. A list of numbers or texts goes as JSON; one
    of bytes cannot, and is spelled out by `spell` at the mark left for it."""
    lists: set[int] = set()

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            lists.add(int(match[2]) - 1)
            return f"IN (SELECT value FROM json_each(?{match[2]}))"
        return f"?{match[2]}"

    text = _PARAMETER.sub(replace, sql.replace("{lock}", "").replace("{skip}", ""))
    return text, frozenset(lists)


def spell(text: str, args: tuple[Any, ...], which: int) -> tuple[str, tuple[Any, ...]]:
    """Replace the list of bytes at parameter `which` by as many parameters, a round number of them."""
    values = list(args[which])
    values += [values[-1]] * (-len(values) % 64)
    marks = ",".join(f"?{len(args) + i + 1}" for i in range(len(values)))
    text = text.replace(f"IN (SELECT value FROM json_each(?{which + 1}))", f"IN ({marks})")
    return text, (*args[:which], None, *args[which + 1 :], *values)


def chunked(rows: Sequence[T]) -> list[Sequence[T]]:
    """Rows cut into pieces of the sizes in CHUNKS."""
    pieces, start = [], 0
    for size in CHUNKS:
        while len(rows) - start >= size:
            pieces.append(rows[start : start + size])
            start += size
    return pieces


@lru_cache(maxsize=1024)
def insert_sql(table: str, columns: tuple[str, ...], rows: int, on: str, key: str) -> str:
    one = "(" + ",".join("?" * len(columns)) + ")"
    sql = f"INSERT INTO {table} ({','.join(columns)}) VALUES {','.join([one] * rows)}"
    if on == "ignore":
        sql += " ON CONFLICT DO NOTHING"
    elif on == "update":
        keys = key.split(",")
        sets = ",".join(f"{c}=excluded.{c}" for c in columns if c not in keys)
        sql += f" ON CONFLICT({key}) DO UPDATE SET {sets}"
    return sql


@lru_cache(maxsize=1024)
def update_sql(table: str, keys: tuple[str, ...], values: tuple[str, ...], rows: int) -> str:
    width = len(keys) + len(values)
    one = "(" + ",".join("?" * width) + ")"
    names = ",".join(f"c{i}" for i in range(width))
    sets = ",".join(
        f"{v[1:]}={table}.{v[1:]}+r.c{len(keys) + i}" if v[0] == "+" else f"{v}=r.c{len(keys) + i}"
        for i, v in enumerate(values)
    )
    where = " AND ".join(f"{table}.{k}=r.c{i}" for i, k in enumerate(keys))
    return (
        f"WITH r({names}) AS (VALUES {','.join([one] * rows)}) UPDATE {table} SET {sets} FROM r WHERE {where}"
    )


@lru_cache(maxsize=64)
def first_sql(sql: str, wants: int) -> str:
    parts = []
    for i in range(wants):
        part = _PARAMETER.sub(lambda m, i=i: f"?{i * 4 + int(m[2])}", sql)  # type: ignore[misc]  # bound default
        parts.append(f"SELECT * FROM ({part} LIMIT ?{i * 4 + 4})")
    return " UNION ALL ".join(parts)


class SqliteConn:
    """See conn.Conn. Nothing here suspends."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    async def now(self) -> int:
        return clock.now()

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
        return self._run(sql, args).fetchall()

    async def execute(self, sql: str, *args: Any) -> int:
        return self._run(sql, args).rowcount

    def _run(self, sql: str, args: tuple[Any, ...]) -> sqlite3.Cursor:
        text, lists = translate(sql)
        if lists:
            for which in lists:
                if args[which] and isinstance(args[which][0], bytes):
                    text, args = spell(text, args, which)
            args = tuple(
                _json.encode(a).decode() if i in lists and isinstance(a, list | tuple) else a
                for i, a in enumerate(args)
            )
        return self.raw.execute(text, args)

    async def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, on: str = "error", key: str = ""
    ) -> None:
        for piece in chunked(rows):
            sql = insert_sql(table, tuple(columns), len(piece), on, key)
            self.raw.execute(sql, tuple(itertools.chain.from_iterable(piece)))

    async def update(
        self, table: str, keys: Sequence[str], values: Sequence[str], rows: Sequence[Row]
    ) -> None:
        for piece in chunked(rows):
            sql = update_sql(table, tuple(keys), tuple(values), len(piece))
            self.raw.execute(sql, tuple(itertools.chain.from_iterable(piece)))

    async def select_first(self, sql: str, wants: Sequence[tuple[int, int, int, int]]) -> Sequence[Row]:
        found: list[Row] = []
        for piece in chunked(wants):
            args = tuple(itertools.chain.from_iterable(piece))
            found += self.raw.execute(first_sql(sql, len(piece)), args).fetchall()
        return found


def run_now(work: Awaitable[T]) -> T:
    """Step a coroutine that never suspends to its end."""
    try:
        cast(Coroutine[Any, Any, T], work).send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise RuntimeError("work on a SQLite connection must not await anything else")


def as_store_error(error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy()
    return StoreError(f"SQLite: {error}")


class _Thread:
    """A thread with one connection that runs the work given to it, the urgent first."""

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection], *, writes: bool) -> None:
        self.name = name
        self.connect = connect
        self.writes = writes
        self.waiting: queue.PriorityQueue[tuple[int, int, Any]] = queue.PriorityQueue()
        self.numbers = itertools.count()
        self.thread: threading.Thread | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        self.thread = threading.Thread(target=self._run, args=(loop, ready), name=self.name, daemon=True)
        self.thread.start()
        await ready

    async def stop(self) -> None:
        if self.thread is None:
            return
        self.waiting.put((2, next(self.numbers), None))
        await asyncio.to_thread(self.thread.join)
        self.thread = None

    async def run(self, work: Callable[[Conn], Awaitable[T]], urgent: bool) -> T:
        if self.thread is None:
            raise StoreError("the database is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self.waiting.put((0 if urgent else 1, next(self.numbers), (work, loop, future)))
        return await future

    def _run(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Future[None]) -> None:
        try:
            raw = self.connect()
        except sqlite3.Error as error:
            loop.call_soon_threadsafe(ready.set_exception, as_store_error(error))
            return
        conn = SqliteConn(raw)
        loop.call_soon_threadsafe(ready.set_result, None)
        while (item := self.waiting.get()[2]) is not None:
            work, caller, future = item
            result, problem = self._attempt(conn, work)
            caller.call_soon_threadsafe(_resolve, future, result, problem)
        raw.close()

    def _attempt(
        self, conn: SqliteConn, work: Callable[[Conn], Awaitable[T]]
    ) -> tuple[T | None, BaseException | None]:
        try:
            return self._transact(conn, work), None
        except sqlite3.Error as error:
            return None, as_store_error(error)
        except BaseException as error:  # whatever work raises belongs to its caller, not to this thread
            return None, error

    def _transact(self, conn: SqliteConn, work: Callable[[Conn], Awaitable[T]]) -> T:
        if not self.writes:
            return run_now(work(conn))
        conn.raw.execute("BEGIN IMMEDIATE")
        try:
            result = run_now(work(conn))
            conn.raw.execute("COMMIT")
        except BaseException:
            if conn.raw.in_transaction:
                conn.raw.execute("ROLLBACK")
            raise
        return result


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # its caller was cancelled; the work has committed all the same
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


class SqliteDatabase:
    """See conn.Database. `synchronous` is FULL (every commit is on the disk) or NORMAL."""

    name = "sqlite"
    shared = False

    def __init__(self, path: Path, synchronous: str = "FULL") -> None:
        self.path = path
        self.synchronous = synchronous
        self.writer = _Thread("fyke-write", self._connect, writes=True)
        self.reader = _Thread("fyke-read", self._connect, writes=False)

    def _connect(self) -> sqlite3.Connection:
        raw = sqlite3.connect(self.path, isolation_level=None, cached_statements=512, timeout=10)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute(f"PRAGMA synchronous={self.synchronous}")
        raw.execute("PRAGMA cache_size=-32000")
        raw.execute("PRAGMA wal_autocheckpoint=4000")
        raw.execute("PRAGMA journal_size_limit=67108864")
        return raw

    async def open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        await self.writer.start()
        await self.reader.start()

    async def close(self) -> None:
        await self.reader.stop()
        await self.writer.stop()

    async def read(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        return await self.reader.run(work, urgent=False)

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        return await self.writer.run(work, urgent)
