"""Deleting a job, in any state."""

from fyke.core.errors import JobNotFound
from fyke.store.conn import Conn

__all__ = ["delete_job"]


async def delete_job(conn: Conn, job: int) -> None:
    """Take a job out of sight at once, and hand out no more of its tasks; its rows and objects are
    removed later, some at a time."""
    if not await conn.execute(
        "UPDATE jobs SET hidden = 1, stop = coalesce(stop, 'delete') WHERE id = $1 AND hidden = 0", job
    ):
        raise JobNotFound
