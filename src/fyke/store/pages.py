"""Reads of a job's results, paged by key: each is short, and the next goes on after the last row."""

from collections.abc import Sequence

from fyke.core.outcome import Change
from fyke.store.conn import Conn, Row

__all__ = [
    "last_change",
    "owns_list",
    "read_changes",
    "read_pages",
]

PAGES = """
    SELECT url, final_url, http_status, fetched_at, title, h1, content_hash, {rest}, seq
    FROM pages WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3"""

CHANGES = """
    SELECT seq, url, change_type, curr_at, prev_at, fields_changed, price_prev, price_curr,
        availability_prev, availability_curr, title_prev, title_curr
    FROM changes WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3"""

REST = {
    "full": "data_full, NULL, state",
    "seo": "NULL, data_seo, state",
    "warc": "NULL, NULL, state, body_object, body_offset, body_length",
}


async def read_pages(conn: Conn, job: int, after: int, limit: int, kind: str) -> Sequence[Row]:
    """Pages in the order of the plan as the export `kind` (or warc) takes them, with `seq` as the last
    column; what it does not need of them is left out."""
    sql = PAGES.format(rest=REST[kind])
    return await conn.fetch(sql, job, after, limit)


async def read_changes(conn: Conn, job: int, after: int, limit: int) -> list[Change]:
    """Rows of a job's diff, in the order of the plan; what is no longer listed comes last."""
    return [Change(*row) for row in await conn.fetch(CHANGES, job, after, limit)]


async def owns_list(conn: Conn, definition: bytes, key: str) -> bool:
    """Whether a job of that definition has come to own the list with this key."""
    rows = await conn.fetch(
        "SELECT 1 FROM jobs j JOIN sources s ON s.job = j.id"
        " WHERE j.definition = $1 AND s.location = $2 LIMIT 1",
        definition,
        key,
    )
    return bool(rows)


async def last_change(conn: Conn, job: int, at_least: int) -> int:
    """The highest place in the job's diff from `at_least` on, or the one before it."""
    rows = await conn.fetch(
        "SELECT seq FROM changes WHERE job = $1 AND seq >= $2 ORDER BY seq DESC LIMIT 1", job, at_least
    )
    return int(rows[0][0]) if rows else at_least - 1
