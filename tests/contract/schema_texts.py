"""The schema of a database as the database itself tells it: two are equal when these texts are."""

from sqlalchemy import Connection, text

from fyke.store.alembic_tools import with_connection
from fyke.store.schema import metadata

__all__ = ["forget_all", "make_from_metadata", "texts"]

POSTGRES = """
    SELECT table_name,
        concat_ws(' ', column_name, udt_name, character_maximum_length, is_nullable, column_default)
    FROM information_schema.columns WHERE table_schema = current_schema()
    UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = current_schema()
    UNION ALL SELECT relname, array_to_string(reloptions, ' ') FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND reloptions IS NOT NULL"""


def _texts(connection: Connection) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    kind = connection.dialect.name
    if kind == "sqlite":
        rows = connection.execute(text("SELECT tbl_name, coalesce(sql, name) FROM sqlite_master"))
        for table, sql in rows:
            found.setdefault(table, set()).update(_parts(sql))
    elif kind == "postgresql":
        for table, part in connection.execute(text(POSTGRES)):
            found.setdefault(table, set()).add(part)
    else:
        for (table,) in connection.execute(text("SHOW TABLES")).fetchall():
            sql = connection.execute(text(f"SHOW CREATE TABLE {table}")).fetchall()[0][1]
            found[table] = set(_parts(sql))
    found.pop("alembic_version", None)
    return found


def _parts(sql: str) -> list[str]:
    """The lines of a CREATE: the order of columns is no difference, and no statement relies on it."""
    return [line.strip().rstrip(",") for line in sql.splitlines() if line.strip()]


async def texts(url: str) -> dict[str, set[str]]:
    """By table, what it is made of."""
    found: dict[str, set[str]] = await with_connection(url, _texts)
    return found


async def make_from_metadata(url: str) -> None:
    await with_connection(url, metadata.create_all)


async def forget_all(url: str) -> None:
    def work(connection: Connection) -> None:
        metadata.drop_all(connection)
        connection.execute(text("DROP TABLE IF EXISTS alembic_version"))

    await with_connection(url, work)
