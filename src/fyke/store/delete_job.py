"""Deleting a job, in any state: it is out of sight at once; `purge` removes what it leaves."""

from fyke.core.errors import JobNotFound
from fyke.store.conn import Conn
from fyke.store.hidden import HIDDEN
from fyke.store.queue.progress import JobDelta, move_jobs

__all__ = ["delete_job"]


async def delete_job(conn: Conn, job: int) -> None:
    """Take a job out of sight, and hand out no more of its tasks; JobNotFound when there is none."""
    now = await conn.now()
    rows = await conn.fetch("SELECT phase FROM jobs WHERE id = $1 AND hidden = 0{lock}", job)
    if not rows:
        raise JobNotFound
    await conn.execute(
        "UPDATE jobs SET hidden = $2, stop = coalesce(stop, 'delete') WHERE id = $1", job, HIDDEN
    )
    if rows[0][0] == "crawl":
        await move_jobs(conn, now, {job: JobDelta()})
