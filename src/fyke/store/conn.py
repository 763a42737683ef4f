"""How SQL is spoken here: one text for all databases, in PostgreSQL's manner, with `$1` parameters.

A list as a parameter goes with `IN $n`. Bulk writes are named, not spelled: `insert` and `update` take
rows of plain tuples and each dialect sends them in as few statements as it can. `{lock}` at the end of
a SELECT locks the rows it returns, `{skip}` likewise but leaves out rows that others hold; where one
process alone writes (SQLite) both are nothing. `{host}` is the host in the column `url`, which is canonical.
`{by INDEX}` behind a table names the index to take to a planner that is known to take another (MySQL's).
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

__all__ = ["BY", "Conn", "Database", "Reading", "Row", "Value"]

Value = int | float | str | bytes | None
Row = Sequence[Any]
T = TypeVar("T")
BY: Final = re.compile(r"\{by (\w+)\}")


class Conn(Protocol):
    """One transaction's connection."""

    async def now(self) -> int:
        """The database's clock."""
        ...

    async def fetch(self, sql: str, *args: Any) -> Sequence[Row]: ...

    async def execute(self, sql: str, *args: Any) -> int:
        """Run a statement; the number of rows it touched."""
        ...

    async def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Row], *, on: str = "error", key: str = ""
    ) -> None:
        """Insert rows. `on` says what happens to a row whose key is there: error, ignore, or update;
        `key` names the key's columns, with commas."""
        ...

    async def update(
        self, table: str, keys: Sequence[str], values: Sequence[str], rows: Sequence[Row]
    ) -> None:
        """Set columns `values` of the rows named by `keys`; each row holds the keys, then the values.
        A value named `+column` is added to what the column holds."""
        ...

    async def select_first(self, sql: str, wants: Sequence[tuple[int, int, int, int]]) -> Sequence[Row]:
        """For each want (three parameters `$1 $2 $3`, and a limit) the first rows of `sql`, all in one."""
        ...


class Reading(Protocol):
    """A database as a handler knows it: what it writes are effects. Work is a function of a connection; it
    may be run again when the database asks for that, so it must touch nothing but the connection."""

    async def read(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        """Run `work` on a connection that only reads."""
        ...


class Database(Reading, Protocol):
    """A database that can be read and written."""

    name: str
    shared: bool  # other processes write to it too

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def write(self, work: Callable[[Conn], Awaitable[T]], *, urgent: bool = False) -> T:
        """Run `work` in one transaction. Urgent ones go before those that wait."""
        ...
