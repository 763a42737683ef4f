"""What robots.txt files said, as far as it still holds."""

from itertools import accumulate

from fyke.core.outcome import SaveRobots
from fyke.store.conn import Conn

__all__ = ["stored_robots"]

MOST = 5_000


async def stored_robots(conn: Conn, most_bytes: int) -> list[SaveRobots]:
    """The freshest, for a process that starts, the oldest of them first; their files have at most so many
    bytes together."""
    sizes = await conn.fetch(
        "SELECT origin_key, length(body) FROM robots WHERE expires_at > $1 ORDER BY fetched_at DESC LIMIT $2",
        await conn.now(),
        MOST,
    )
    together = accumulate(size for _, size in sizes)
    keys = [bytes(row[0]) for row, size in zip(sizes, together, strict=True) if size <= most_bytes]
    rows = await conn.fetch(
        "SELECT origin, verdict, body, fetched_at, expires_at FROM robots WHERE origin_key IN $1", keys
    )
    found = [SaveRobots(row[0], row[1], bytes(row[2]), row[3], row[4]) for row in rows]
    return sorted(found, key=lambda row: row.fetched_at)
