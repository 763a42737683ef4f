"""A thread with one SQLite connection: works off what is given to it, the urgent first.

Work is written as `async def` like everywhere, but nothing in it ever suspends here: the thread steps it
to its end. What waits at the same time shares one commit, because a commit costs more than most work.
"""

import asyncio
import itertools
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

from msgspec import Struct

from fyke.core.errors import DiskFull, StoreBusy, StoreError
from fyke.store.conn import Conn
from fyke.store.sqlite_conn import SqliteConn

__all__ = ["SqliteThread", "embedded_library"]

T = TypeVar("T")
SHARED = 8  # pieces of work that share a commit at the most


def embedded_library() -> str:
    """The library and its version, for people."""
    return f"SQLite {sqlite3.sqlite_version}"


class Entry(Struct):
    """A piece of work, where its result goes, and what that is."""

    run: Callable[[Conn], Awaitable[Any]]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    result: Any = None
    problem: BaseException | None = None

    def answer(self) -> None:
        self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if self.future.done():  # its caller was cancelled; the work has committed all the same
            return
        if self.problem is not None:
            self.future.set_exception(self.problem)
        else:
            self.future.set_result(self.result)


class SqliteThread:
    """See the module."""

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection], *, writes: bool) -> None:
        self.name = name
        self.connect = connect
        self.begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        self.shared = SHARED if writes else 1
        self.waiting: queue.PriorityQueue[tuple[int, int, Entry | None]] = queue.PriorityQueue()
        self.numbers = itertools.count()
        self.thread: threading.Thread | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        self.thread = threading.Thread(target=self._main, args=(loop, ready), name=self.name, daemon=True)
        self.thread.start()
        await ready

    async def stop(self) -> None:
        if self.thread is None:
            return
        thread, self.thread = self.thread, None
        self.waiting.put((2, next(self.numbers), None))
        await asyncio.to_thread(thread.join)

    async def run(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        if self.thread is None:
            raise StoreError("the database is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self.waiting.put((0 if urgent else 1, next(self.numbers), Entry(work, loop, future)))
        return await future

    def _main(self, loop: asyncio.AbstractEventLoop, ready: "asyncio.Future[None]") -> None:
        try:
            conn = SqliteConn(self.connect())
        except sqlite3.Error as error:
            loop.call_soon_threadsafe(ready.set_exception, as_store_error(error))
            return
        loop.call_soon_threadsafe(ready.set_result, None)
        going = True
        while going:
            going = self._commit_some(conn)
        conn.raw.close()

    def _commit_some(self, conn: SqliteConn) -> bool:
        """Work off what waits, in one transaction; False when that was the end."""
        first = self.waiting.get()[2]
        if first is None:
            return False
        group = [first]
        try:
            conn.raw.execute(self.begin)
            going = self._run_group(conn, group)
            conn.raw.execute("COMMIT")
        except Exception as error:  # nothing of the group has happened: each of its callers must know
            going = True
            if conn.raw.in_transaction:
                conn.raw.execute("ROLLBACK")
            if isinstance(as_ours(error), DiskFull):
                make_room(conn.raw)
            for work in group:
                work.problem = work.problem or as_ours(error)
        for work in group:
            work.answer()
        return going

    def _run_group(self, conn: SqliteConn, group: list[Entry]) -> bool:
        group[0].result = run_now(group[0].run(conn))
        while len(group) < self.shared:
            try:
                work = self.waiting.get_nowait()[2]
            except queue.Empty:
                break
            if work is None:
                return False
            group.append(work)
            conn.raw.execute("SAVEPOINT work")
            try:
                work.result = run_now(work.run(conn))
            except Exception as error:  # its own transaction would have failed alone
                if not conn.raw.in_transaction:
                    raise  # SQLite has given up the whole of it
                conn.raw.execute("ROLLBACK TO work")
                work.problem = as_ours(error)
            conn.raw.execute("RELEASE work")
        return True


def run_now(work: Awaitable[T]) -> T:
    """Step a coroutine that never suspends to its end."""
    try:
        cast(Coroutine[Any, Any, T], work).send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise RuntimeError("work on a SQLite connection must not await anything else")


def make_room(raw: sqlite3.Connection) -> None:
    """The log may be what has filled the disk: bring what it holds into the database, so that the next
    writes go over it from its start. Waits for nobody, and may well fail for want of room itself."""
    with suppress(sqlite3.Error):
        raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def as_ours(error: Exception) -> Exception:
    return as_store_error(error) if isinstance(error, sqlite3.Error) else error


def as_store_error(error: sqlite3.Error) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull()
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy()
    return StoreError(f"SQLite: {error}")
