"""A first key without configuration: made on an empty database, kept in the data directory."""

import asyncio
import os
from pathlib import Path

from fyke.api.auth import digest_of, new_token
from fyke.store.conn import Conn, Database
from fyke.store.keys import create_key, list_keys

__all__ = ["ensure_admin_key"]


async def ensure_admin_key(database: Database, file: Path) -> bool:
    """Make an admin key where there is none at all; True when one was made. The file is written before
    the key is stored: a crash in between leaves a file that opens nothing, and the next start makes
    another."""
    token = new_token()

    async def make(conn: Conn) -> bool:
        if await list_keys(conn, None, 1):
            return False
        await create_key(conn, "admin", digest_of(token), frozenset({"admin"}))
        return True

    if await database.read(lambda conn: list_keys(conn, None, 1)):
        return False
    await asyncio.to_thread(_write, file, token)
    return await database.write(make)


def _write(file: Path, token: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.write(token + "\n")
    part.replace(file)
