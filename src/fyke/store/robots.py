"""What robots.txt files said, as far as it still holds."""

from fyke.core.outcome import SaveRobots
from fyke.store.conn import Conn

__all__ = ["stored_robots"]

MOST = 5_000


async def stored_robots(conn: Conn) -> list[SaveRobots]:
    """The freshest, for a process that starts."""
    rows = await conn.fetch(
        "SELECT origin, verdict, body, fetched_at, expires_at FROM robots WHERE expires_at > $1"
        " ORDER BY fetched_at DESC LIMIT $2",
        await conn.now(),
        MOST,
    )
    return [SaveRobots(row[0], row[1], bytes(row[2]), row[3], row[4]) for row in rows]
