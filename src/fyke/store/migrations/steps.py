"""Steps that a migration is made of: each does nothing where it has been done before.

MySQL commits every statement of a schema's change by itself; a migration that died between two of them
is run again from its beginning.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

__all__ = ["create_index", "create_table", "has_partial_indexes"]


def create_table(name: str, *parts: Any, **options: Any) -> None:
    if not sa.inspect(op.get_bind()).has_table(name):
        op.create_table(name, *parts, **options)


def create_index(name: str, table: str, columns: list[str], **options: Any) -> None:
    if name not in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns, **options)


def has_partial_indexes() -> bool:
    return op.get_bind().dialect.name in ("sqlite", "postgresql")
