"""What a statement looks at: a connection that asks the database, for each statement it is given, how
many rows were read for it and which tables were read from end to end.

SQLite counts the steps of its machine, PostgreSQL explains after running (undone again), MariaDB keeps
counters of the rows it reads and sorts.
"""

import json
import re
from typing import Any

from msgspec import Struct

from fyke.store.conn import Conn
from fyke.store.schema import metadata

__all__ = ["Look", "watched"]

STEPS_A_ROW = 40  # of SQLite's machine, at the most, for a row that is read, compared and sorted
_ALIAS = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(?!WHERE\b|SET\b|ON\b|ORDER\b)(\w+))?", re.I
)


class Look(Struct):
    """A statement; about how many rows it read or sorted, and what it read whole."""

    sql: str
    rows: int
    whole: list[str]
    plan: str


def tables(sql: str, names: list[str]) -> list[str]:
    """The tables that these names mean in a statement."""
    aliases = {alias or table: table for table, alias in _ALIAS.findall(sql)}
    found = [aliases.get(name, name) for name in names]
    return sorted({name for name in found if name in metadata.tables})


class SqliteSpy:
    """Stands for a connection of the driver."""

    def __init__(self, raw: Any, looks: list[Look]) -> None:
        self.raw = raw
        self.looks = looks

    def execute(self, sql: str, args: Any = ()) -> Any:
        if sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")):
            return self.raw.execute(sql, args)
        plan = [row[3] for row in self.raw.execute("EXPLAIN QUERY PLAN " + sql, args)]
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 10
            return 0

        self.raw.set_progress_handler(count, 10)
        try:
            cursor = Rows(self.raw.execute(sql, args))
        finally:
            self.raw.set_progress_handler(None, 0)
        whole = [m[1] for line in plan if (m := re.match(r"SCAN (\w+)", line))]
        self.looks.append(Look(sql, steps // STEPS_A_ROW, tables(sql, whole), "\n".join(plan)))
        return cursor


class Rows:
    """What a cursor gave, read to its end."""

    def __init__(self, cursor: Any) -> None:
        self.rows = cursor.fetchall()
        self.rowcount = cursor.rowcount

    def fetchall(self) -> Any:
        return self.rows


class PostgresSpy:
    """Stands for a connection of the driver."""

    def __init__(self, raw: Any, looks: list[Look]) -> None:
        self.raw = raw
        self.looks = looks

    async def _look(self, sql: str, args: Any) -> None:
        await self.raw.execute("SAVEPOINT look")
        plan = json.loads(await self.raw.fetchval("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, *args))
        await self.raw.execute("ROLLBACK TO look")
        rows, whole, nodes_read = 0, list[str](), list[str]()
        nodes = [plan[0]["Plan"]]
        while nodes:
            node = nodes.pop()
            nodes += node.get("Plans", [])
            removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
            named = node.get("Index Name") or node.get("Relation Name", "")
            nodes_read.append(f"{node['Node Type']} {named} {node['Actual Rows']} x {node['Actual Loops']}")
            if "Relation Name" in node or node["Node Type"] in ("Sort", "Bitmap Index Scan"):
                rows += int((node["Actual Rows"] + removed) * node["Actual Loops"])
            if node["Node Type"] == "Seq Scan":
                whole.append(node["Relation Name"])
        self.looks.append(Look(sql, rows, whole, "\n".join(nodes_read)))

    async def fetch(self, sql: str, *args: Any) -> Any:
        await self._look(sql, args)
        return await self.raw.fetch(sql, *args)

    async def execute(self, sql: str, *args: Any) -> Any:
        await self._look(sql, args)
        return await self.raw.execute(sql, *args)

    async def fetchval(self, sql: str, *args: Any) -> Any:
        return await self.raw.fetchval(sql, *args)  # the clock


class MysqlSpy:
    """Stands for a cursor of the driver."""

    def __init__(self, cursor: Any, looks: list[Look]) -> None:
        self.cursor = cursor
        self.looks = looks
        self.counting = 0  # what reading the counters costs itself

    async def execute(self, sql: str, args: Any = None) -> Any:
        if not self.counting:
            self.counting = -await self._counted() + await self._counted()
        await self.cursor.execute("EXPLAIN FORMAT=TRADITIONAL " + sql, args)
        plan = await self.cursor.fetchall()
        columns = [column[0] for column in self.cursor.description]
        table, how = columns.index("table"), columns.index("type")
        before = await self._counted()
        answer = await self.cursor.execute(sql, args)
        self.rows = await self.cursor.fetchall()
        rows = await self._counted() - before - self.counting
        whole = [row[table] for row in plan if row[how] in ("ALL", "index") and row[table]]
        self.looks.append(Look(sql, rows, tables(sql, whole), "\n".join(map(str, plan))))
        return answer

    async def fetchall(self) -> Any:
        return self.rows

    async def _counted(self) -> int:
        await self.cursor.execute(
            "SHOW SESSION STATUS WHERE variable_name LIKE 'Handler\\_read%' OR variable_name = 'Sort_rows'"
        )
        return sum(int(value) for _, value in await self.cursor.fetchall())


SPIES = {
    "SqliteConn": ("raw", SqliteSpy),
    "PostgresConn": ("raw", PostgresSpy),
    "MysqlConn": ("cursor", MysqlSpy),
}


def watched(conn: Conn, looks: list[Look]) -> Conn:
    """The same transaction; `looks` fills with what its statements looked at."""
    made: Any = type(conn)
    attribute, spy = SPIES[made.__name__]
    return made(spy(getattr(conn, attribute), looks))  # type: ignore[no-any-return]
