"""API keys: what is kept of a key is the hash of its token, never the token."""

from typing import Final

from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.errors import KeyNotFound
from fyke.core.ids import new_id
from fyke.store.conn import Conn, Row

__all__ = ["SCOPES", "Key", "create_key", "find_key", "list_keys", "revoke_key", "touch_key"]

SCOPES: Final[tuple[str, ...]] = ("admin", "submit", "read", "worker")
COLUMNS: Final = "id, name, hash, scopes, created_at, last_used_at"
TOUCHED: Final = 60 * SECOND  # `last_used_at` is not written more often


class Key(Struct, frozen=True):
    """A key's row."""

    id: int
    name: str
    hash: bytes
    scopes: frozenset[str]
    created_at: int
    last_used_at: int | None


def _key(row: Row) -> Key:
    return Key(row[0], row[1], bytes(row[2]), frozenset(row[3].split(",")), row[4], row[5])


async def create_key(conn: Conn, name: str, digest: bytes, scopes: frozenset[str]) -> Key:
    """Keep the key whose token has the SHA-256 `digest`."""
    key = Key(new_id(), name, digest, scopes, await conn.now(), None)
    row = (key.id, name, digest, ",".join(s for s in SCOPES if s in scopes), key.created_at)
    await conn.insert("api_keys", ("id", "name", "hash", "scopes", "created_at"), [row])
    return key


async def list_keys(conn: Conn, after: int | None, limit: int) -> list[Key]:
    """Newest first, after the one with the id `after`."""
    rows = await conn.fetch(
        f"SELECT {COLUMNS} FROM api_keys WHERE id < $1 ORDER BY id DESC LIMIT $2",
        (1 << 63) - 1 if after is None else after,
        limit,
    )
    return [_key(row) for row in rows]


async def find_key(conn: Conn, digest: bytes) -> Key | None:
    rows = await conn.fetch(f"SELECT {COLUMNS} FROM api_keys WHERE hash = $1", digest)
    return _key(rows[0]) if rows else None


async def revoke_key(conn: Conn, key: int) -> None:
    if not await conn.execute("DELETE FROM api_keys WHERE id = $1", key):
        raise KeyNotFound


async def touch_key(conn: Conn, key: int) -> None:
    """Note that the key is in use."""
    now = await conn.now()
    await conn.execute(
        "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $3)",
        key,
        now,
        now - TOUCHED,
    )
