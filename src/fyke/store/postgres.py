"""PostgreSQL through asyncpg: bulk statements are made of arrays."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg

from fyke.core.errors import DiskFull, StoreError
from fyke.store.conn import BY, Conn, Row
from fyke.store.retry import Again, Taken, retrying
from fyke.store.types import array_type

__all__ = ["PostgresDatabase"]

T = TypeVar("T")
# Without its port; an address in brackets keeps it.
HOST = (
    "CASE WHEN split_part(url, '/', 3) LIKE '[%' THEN split_part(url, '/', 3)"
    " ELSE split_part(split_part(url, '/', 3), ':', 1) END"
)
_LIST = re.compile(r"IN (\$\d+)")
_PARAMETER = re.compile(r"\$(\d)")

# A process that is stopped in the middle of a transaction must not keep its locks: ms.
MOST_IDLE = 8_000
LONGEST_GOODBYE = 2.0  # seconds

PASSING = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what it makes of a connection that ends while it begins something
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    OSError,
    TimeoutError,
)


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    text = _LIST.sub(r"= ANY(\1)", BY.sub("", sql)).replace("{host}", HOST)
    return text.replace("{lock}", " FOR UPDATE").replace("{skip}", " FOR UPDATE SKIP LOCKED")


@lru_cache(maxsize=256)
def insert_sql(table: str, columns: tuple[str, ...], on: str, key: str) -> str:
    arrays = ",".join(f"${i + 1}::{array_type(table, c)}" for i, c in enumerate(columns))
    sql = f"INSERT INTO {table} ({','.join(columns)}) SELECT * FROM unnest({arrays})"
    if on == "ignore":
        sql += " ON CONFLICT DO NOTHING"
    elif on == "update":
        keys = key.split(",")
        sets = ",".join(f"{c}=EXCLUDED.{c}" for c in columns if c not in keys)
        sql += f" ON CONFLICT ({key}) DO UPDATE SET {sets}"
    return sql


@lru_cache(maxsize=256)
def update_sql(table: str, keys: tuple[str, ...], values: tuple[str, ...]) -> str:
    columns = [*keys, *(v.lstrip("+") for v in values)]
    arrays = ",".join(f"${i + 1}::{array_type(table, c)}" for i, c in enumerate(columns))
    names = ",".join(f"c{i}" for i in range(len(columns)))
    sets = ",".join(
        f"{v[1:]}={table}.{v[1:]}+r.c{len(keys) + i}" if v[0] == "+" else f"{v}=r.c{len(keys) + i}"
        for i, v in enumerate(values)
    )
    where = " AND ".join(f"{table}.{k}=r.c{i}" for i, k in enumerate(keys))
    return f"UPDATE {table} SET {sets} FROM unnest({arrays}) AS r({names}) WHERE {where}"


@lru_cache(maxsize=64)
def first_sql(sql: str) -> str:
    inner = _PARAMETER.sub(lambda m: f"w.c{m[1]}", sql)
    return (
        "SELECT t.* FROM unnest($1::bigint[],$2::bigint[],$3::bigint[],$4::bigint[]) AS w(c1,c2,c3,n),"
        f" LATERAL ({inner} LIMIT w.n) AS t"
    )


class PostgresConn:
    """See conn.Conn."""

    def __init__(self, raw: "asyncpg.pool.PoolConnectionProxy[Any]") -> None:
        self.raw = raw

    async def now(self) -> int:
        return int(await self.raw.fetchval("SELECT (extract(epoch FROM clock_timestamp())*1000000)::bigint"))

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]:
        found: Sequence[Row] = await self.raw.fetch(translate(sql), *args)
        return found

    async def execute(self, sql: str, *args: Any) -> int:
        status = await self.raw.execute(translate(sql), *args)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, on: str = "error", key: str = ""
    ) -> None:
        if rows:
            await self.raw.execute(insert_sql(table, tuple(columns), on, key), *zip(*rows, strict=True))

    async def update(
        self, table: str, keys: Sequence[str], values: Sequence[str], rows: Sequence[Row]
    ) -> None:
        if rows:
            await self.raw.execute(update_sql(table, tuple(keys), tuple(values)), *zip(*rows, strict=True))

    async def select_first(self, sql: str, wants: Sequence[tuple[int, int, int, int]]) -> Sequence[Row]:
        if not wants:
            return []
        found: Sequence[Row] = await self.raw.fetch(first_sql(sql), *zip(*wants, strict=True))
        return found


class PostgresDatabase:
    """See conn.Database."""

    name = "postgres"
    shared = True

    def __init__(self, url: str, connections: int = 6) -> None:
        self.url = url
        self.connections = connections
        self.pool: asyncpg.Pool[Any] | None = None

    async def open(self) -> None:
        async def connect() -> "asyncpg.Pool[Any]":
            try:
                return await asyncpg.create_pool(
                    self.url,
                    min_size=1,
                    max_size=self.connections,
                    command_timeout=60,
                    timeout=10,
                    server_settings={
                        "application_name": "fyke",
                        "jit": "off",
                        # What claims touch is in memory: 200 look-ups beat reading a whole table.
                        "random_page_cost": "1.1",
                        "idle_in_transaction_session_timeout": str(MOST_IDLE),
                    },
                )
            except PASSING as error:
                raise Again from error
            except asyncpg.PostgresError as error:
                raise StoreError(f"PostgreSQL: {error}") from error

        self.pool = await retrying(connect)

    async def close(self) -> None:
        if self.pool is not None:
            pool, self.pool = self.pool, None
            try:
                async with asyncio.timeout(LONGEST_GOODBYE):
                    await pool.close()
            except TimeoutError:
                pool.terminate()

    async def read(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        return await self._run(work, readonly=True)

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        return await self._run(work, readonly=False)

    async def _run(self, work: Callable[[Conn], Awaitable[T]], *, readonly: bool) -> T:
        async def attempt() -> T:
            if self.pool is None:
                raise StoreError("the database is closed")
            try:
                async with self.pool.acquire(timeout=30) as raw, _transaction(raw, readonly):
                    return await work(PostgresConn(raw))
            except asyncpg.UniqueViolationError as error:
                raise Taken from error
            except PASSING as error:
                raise Again from error
            except asyncpg.DiskFullError as error:
                raise DiskFull from error
            except asyncpg.PostgresError as error:
                raise StoreError(f"PostgreSQL: {error}") from error

        return await retrying(attempt)


@asynccontextmanager
async def _transaction(raw: "asyncpg.pool.PoolConnectionProxy[Any]", readonly: bool) -> AsyncIterator[None]:
    """Rolled back when the work fails; where it was given up, or the server is gone, nobody is asked any
    more: the connection is cut, and the server rolls back by itself."""
    transaction = raw.transaction(readonly=readonly)
    try:
        await transaction.start()
        yield
        await transaction.commit()
    except (asyncio.CancelledError, OSError, TimeoutError, asyncpg.InterfaceError):
        raw.terminate()
        raise
    except BaseException:
        if not raw.is_closed():
            await transaction.rollback()
        raise
