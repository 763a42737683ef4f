"""What PostgreSQL calls the columns' types, for bulk statements made of arrays."""

from functools import lru_cache

from sqlalchemy import BigInteger, Double, Integer, LargeBinary, SmallInteger

from fyke.store.schema import metadata

__all__ = ["array_type"]


@lru_cache(maxsize=1024)
def array_type(table: str, column: str) -> str:
    kind = metadata.tables[table].c[column].type
    if isinstance(kind, BigInteger):
        return "bigint[]"
    if isinstance(kind, SmallInteger):
        return "smallint[]"
    if isinstance(kind, Integer):
        return "integer[]"
    if isinstance(kind, Double):
        return "double precision[]"
    if isinstance(kind, LargeBinary):
        return "bytea[]"
    return "text[]"
