"""SQL for SQLite: bulk writes are single statements with many rows, because each statement gives up
and takes back the interpreter's lock, which a thread beside a busy event loop must do seldom."""

import itertools
import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from fyke.core import clock
from fyke.store.conn import BY, Row

__all__ = ["SqliteConn"]

T = TypeVar("T")
CHUNKS = (64, 16, 4, 1)  # rows in one statement: few shapes, so that each stays prepared
_REST = "substr(url, instr(url, '://') + 3) || '/'"
_AUTHORITY = f"substr({_REST}, 1, instr({_REST}, '/') - 1)"
# Without its port; an address in brackets keeps it.
HOST = (
    f"CASE WHEN substr({_AUTHORITY}, 1, 1) = '[' THEN {_AUTHORITY}"
    f" ELSE substr({_AUTHORITY}, 1, instr({_AUTHORITY} || ':', ':') - 1) END"
)
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

    plain = BY.sub("", sql).replace("{lock}", "").replace("{skip}", "").replace("{host}", HOST)
    text = _PARAMETER.sub(replace, plain)
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
