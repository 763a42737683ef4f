"""MySQL 8 and MariaDB 10.6+ through asyncmy: READ COMMITTED, bulk statements are long texts."""

import asyncio
import re
import weakref
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import asyncmy
from asyncmy import errors

from fyke.core.errors import DiskFull, StoreError
from fyke.store.conn import BY, Conn, Row
from fyke.store.retry import Again, Taken, retrying

__all__ = ["MysqlDatabase"]

T = TypeVar("T")
_AUTHORITY = "substring_index(substring_index(url, '/', 3), '/', -1)"
# Without its port; an address in brackets keeps it.
HOST = (
    f"CASE WHEN left({_AUTHORITY}, 1) = '[' THEN {_AUTHORITY} ELSE substring_index({_AUTHORITY}, ':', 1) END"
)
_PARAMETER = re.compile(r"\$(\d+)")
LOCK_WAIT, DEADLOCK, DUPLICATE, DISK_FULL = 1205, 1213, 1062, (1021, 1114, 3, 28)
GONE = (1040, 1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2055)
ROWS = 250  # in one statement
MOST_IDLE = 8  # seconds that the server waits for the next statement
# Seconds. The driver has no limit of its own that holds in a network that carries nothing any more: at its
# `read_timeout` it says goodbye, and waits until that has been sent.
LONGEST_COMMAND, LONGEST_CONNECT, LONGEST_GOODBYE = 60.0, 10.0, 2.0


@lru_cache(maxsize=512)
def translate(sql: str) -> tuple[str, tuple[int, ...]]:
    """The text for the driver, and which argument stands at each of its places."""
    order = tuple(int(n) - 1 for n in _PARAMETER.findall(sql))
    text = BY.sub(r" FORCE INDEX (\1)", _PARAMETER.sub("%s", sql)).replace("{host}", HOST)
    return text.replace("{lock}", " FOR UPDATE").replace("{skip}", " FOR UPDATE SKIP LOCKED"), order


def spell(sql: str, want: tuple[int, ...]) -> str:
    """The text with the numbers written into it."""
    return _PARAMETER.sub(lambda match: str(want[int(match[1]) - 1]), sql)


class MysqlConn:
    """See conn.Conn."""

    def __init__(self, cursor: Any, limit: float = LONGEST_COMMAND) -> None:
        self.cursor = cursor
        self.limit = limit

    async def _run(self, sql: str, values: Sequence[Any] | None = None) -> int:
        async with asyncio.timeout(self.limit):
            return int(await self.cursor.execute(sql, values))

    async def now(self) -> int:
        await self._run("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6))*1000000 AS SIGNED)")
        return int((await self.cursor.fetchall())[0][0])

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
        await self.execute(sql, *args)
        found: Sequence[Row] = await self.cursor.fetchall()
        return found

    async def execute(self, sql: str, *args: Any) -> int:
        text, order = translate(sql)
        # An empty list renders as `()`, which is no SQL: no id is negative, so this matches nothing.
        values = [(tuple(args[i]) or (-1,)) if isinstance(args[i], list | tuple) else args[i] for i in order]
        return await self._run(text, values or None)

    async def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, on: str = "error", key: str = ""
    ) -> None:
        one = "(" + ",".join(["%s"] * len(columns)) + ")"
        end = ""
        if on == "ignore":
            end = f" ON DUPLICATE KEY UPDATE {columns[0]}={table}.{columns[0]}"
        elif on == "update":
            keys = key.split(",")
            end = " ON DUPLICATE KEY UPDATE " + ",".join(f"{c}=VALUES({c})" for c in columns if c not in keys)
        for start in range(0, len(rows), ROWS):
            piece = rows[start : start + ROWS]
            values = ",".join([one] * len(piece))
            sql = f"INSERT INTO {table} ({','.join(columns)}) VALUES {values}{end}"
            await self._run(sql, [v for row in piece for v in row])

    async def update(
        self, table: str, keys: Sequence[str], values: Sequence[str], rows: Sequence[Row]
    ) -> None:
        width = len(keys) + len(values)
        first = "SELECT " + ",".join(f"%s AS c{i}" for i in range(width))
        rest = " UNION ALL SELECT " + ",".join(["%s"] * width)
        sets = ",".join(
            f"t.{v[1:]}=t.{v[1:]}+r.c{len(keys) + i}" if v[0] == "+" else f"t.{v}=r.c{len(keys) + i}"
            for i, v in enumerate(values)
        )
        where = " AND ".join(f"t.{k}=r.c{i}" for i, k in enumerate(keys))
        for start in range(0, len(rows), ROWS):
            piece = rows[start : start + ROWS]
            derived = first + rest * (len(piece) - 1)
            await self._run(
                f"UPDATE ({derived}) r JOIN {table} t ON {where} SET {sets}",
                [v for row in piece for v in row],
            )

    async def select_first(self, sql: str, wants: Sequence[tuple[int, int, int, int]]) -> Sequence[Row]:
        if not wants:
            return []
        parts = ["(" + spell(sql, want) + f" LIMIT {want[3]})" for want in wants]
        await self._run(" UNION ALL ".join(parts))
        found: Sequence[Row] = await self.cursor.fetchall()
        return found


def as_ours(error: Exception) -> Exception:
    """Again when a further try may pass, else a StoreError."""
    if isinstance(error, OSError | TimeoutError | errors.InterfaceError | EOFError):
        return Again()
    code = error.args[0] if error.args else 0
    if code == DUPLICATE:
        return Taken()
    if code in (LOCK_WAIT, DEADLOCK, *GONE):
        return Again()
    if code in DISK_FULL:
        return DiskFull()
    return StoreError(f"MySQL: {error}")


class MysqlDatabase:
    """See conn.Database."""

    name = "mysql"
    shared = True

    def __init__(
        self,
        url: str,
        connections: int = 6,
        *,
        longest_command: float = LONGEST_COMMAND,
        longest_connect: float = LONGEST_CONNECT,
    ) -> None:
        parts = urlsplit(url)
        self.options: dict[str, Any] = {
            "host": parts.hostname or "127.0.0.1",
            "port": parts.port or 3306,
            "user": unquote(parts.username or "root"),
            "password": unquote(parts.password or ""),
            "db": unquote(parts.path.lstrip("/")),
            "charset": "utf8mb4",
            "autocommit": False,
            "connect_timeout": 10,
            "init_command": "SET SESSION time_zone = '+00:00', "
            "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
            # A process stopped in the middle of a transaction must not keep its locks. MySQL has no limit for
            # transactions alone: the pool lets go before the server of connections that nobody uses.
            f"wait_timeout = {MOST_IDLE}",
        }
        self.connections = connections
        self.longest_command = longest_command
        self.longest_connect = longest_connect
        self.pool: Any = None
        self.prepared: weakref.WeakSet[Any] = weakref.WeakSet()

    async def open(self) -> None:
        async def connect() -> Any:
            try:
                async with asyncio.timeout(self.longest_connect):
                    return await asyncmy.create_pool(
                        minsize=1, maxsize=self.connections, pool_recycle=MOST_IDLE // 2, **self.options
                    )
            except (errors.MySQLError, OSError, TimeoutError) as error:
                raise as_ours(error) from error

        self.pool = await retrying(connect)

    async def close(self) -> None:
        if self.pool is not None:
            pool, self.pool = self.pool, None
            pool.close()
            try:
                async with asyncio.timeout(LONGEST_GOODBYE):
                    await pool.wait_closed()
            except TimeoutError:
                pool.terminate()

    async def read(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        return await self._run(work)

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        return await self._run(work)

    async def _run(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        async def attempt() -> T:
            if self.pool is None:
                raise StoreError("the database is closed")
            try:
                async with asyncio.timeout(self.longest_connect):
                    raw = await self.pool.acquire()
            except (errors.MySQLError, OSError, TimeoutError) as error:
                raise as_ours(error) from error
            usable = False
            try:
                async with raw.cursor() as cursor:
                    conn = MysqlConn(cursor, self.longest_command)
                    if raw not in self.prepared:
                        await conn.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
                        self.prepared.add(raw)
                    result = await work(conn)
                async with asyncio.timeout(self.longest_command):
                    await raw.commit()
                usable = True
                return result
            except (errors.MySQLError, OSError, TimeoutError, EOFError) as error:
                usable = isinstance(error, errors.MySQLError) and await self._rolled_back(raw)
                raise as_ours(error) from error
            finally:  # also when the work raises, or is cancelled
                if not usable:
                    raw.close()
                if self.pool is not None:
                    self.pool.release(raw)

        return await retrying(attempt)

    async def _rolled_back(self, raw: Any) -> bool:
        """Whether a connection can be used again after the server has refused something."""
        try:
            async with asyncio.timeout(LONGEST_GOODBYE):
                await raw.rollback()
        except (errors.MySQLError, OSError, EOFError, RuntimeError):
            return False
        return True
