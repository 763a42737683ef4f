"""Time series of jobs: their counters, taken every now and then while they run.

A long job is sampled ever more seldom, so that a week of crawling costs some thousand rows and not some
hundred thousand.
"""

from typing import Final

import msgspec
from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.store.conn import Conn, Row

__all__ = ["NAMES", "Sample", "list_samples", "sample"]

NAMES: Final = ("succeeded", "failed", "skipped", "open", "in_flight", "bytes", "residential_bytes")
LEAST: Final = 4 * SECOND  # between two samples of a job
SHARE: Final = 500  # of its age, that is
MOST_JOBS: Final = 100  # in one round; the next takes the others

# The last sample is looked up by the key, for each job: a job may have thousands, and this is asked every few
# seconds. Not max(at): MySQL would read all of them.
RUNNING: Final = (
    "SELECT j.id, j.started_at, j.domain, j.target,"
    " coalesce((SELECT m.at FROM metrics m WHERE m.job = j.id ORDER BY m.job DESC, m.at DESC LIMIT 1), 0)"
    " AS last, "
    + ", ".join(f"j.{name}" for name in NAMES)
    + " FROM jobs j WHERE j.phase = 'crawl' AND j.state IN $1 AND j.started_at IS NOT NULL"
    " ORDER BY last, j.id LIMIT $2"
)


class Sample(Struct, frozen=True, gc=False):
    """One value of one series."""

    at: int
    name: str
    value: float
    labels: str


async def sample(conn: Conn) -> int:
    """Take a sample of the running jobs that are due for one; how many rows that made."""
    now = await conn.now()
    rows: list[Row] = []
    for job, started, domain, target, last, *values in await conn.fetch(
        RUNNING, ["running", "cancelling"], MOST_JOBS
    ):
        if now - last < max(LEAST, (now - started) // SHARE):
            continue
        labels = msgspec.json.encode({"domain": domain, "target": target}).decode()
        rows += [(job, now, name, float(value), labels) for name, value in zip(NAMES, values, strict=True)]
    await conn.insert("metrics", ("job", "at", "name", "value", "labels"), rows, on="ignore")
    return len(rows)


async def list_samples(conn: Conn, job: int, after: int, limit: int) -> list[Sample]:
    """The samples of the `limit` moments that follow `after`, in order."""
    moments = await conn.fetch(
        "SELECT DISTINCT at FROM metrics WHERE job = $1 AND at > $2 ORDER BY at LIMIT $3", job, after, limit
    )
    if not moments:
        return []
    rows = await conn.fetch(
        "SELECT at, name, value, labels FROM metrics WHERE job = $1 AND at > $2 AND at <= $3"
        " ORDER BY at, name",
        job,
        after,
        moments[-1][0],
    )
    return [Sample(*row) for row in rows]
