"""Reads of a job's results, paged by key: each is short, and the next goes on after the last row."""

from collections.abc import Sequence

from msgspec import Struct

from fyke.core.diff import Snapshot
from fyke.core.ids import key16
from fyke.core.outcome import Change
from fyke.store.conn import Conn, Row
from fyke.store.jobs import Job, previous_of

__all__ = [
    "SourceState",
    "absent",
    "last_change",
    "listings_before",
    "owns_list",
    "read_changes",
    "read_pages",
    "sources_of",
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

SNAPSHOTS = """
    SELECT url_key, url, domain, target, last_hash, last_title, last_h1, last_data, last_crawl_at
    FROM snapshots WHERE url_key IN $1 AND target = $2"""

MOST_LISTINGS = 20  # earlier jobs looked at for one whose list was read and crawled to its end


class SourceState(Struct, frozen=True):
    """How the reading of one of a job's sources stands: waiting, reading, read or failed."""

    number: int
    kind: str
    location: str
    state: str
    entries: int
    warnings: int
    message: str | None


async def read_pages(conn: Conn, job: int, after: int, limit: int, kind: str) -> Sequence[Row]:
    """Pages in the order of the plan as the export `kind` (or warc) takes them, with `seq` as the last
    column; what it does not need of them is left out."""
    sql = PAGES.format(rest=REST[kind])
    return await conn.fetch(sql, job, after, limit)


async def read_changes(conn: Conn, job: int, after: int, limit: int) -> list[Change]:
    """Rows of a job's diff, in the order of the plan; what is no longer listed comes last."""
    return [Change(*row) for row in await conn.fetch(CHANGES, job, after, limit)]


async def sources_of(conn: Conn, job: int) -> list[SourceState]:
    rows = await conn.fetch(
        "SELECT number, kind, location, state, entries, warnings, message FROM sources"
        " WHERE job = $1 AND (state <> 'read' OR number < 1000) ORDER BY number LIMIT 2000",
        job,
    )
    return [SourceState(*row) for row in rows]


async def owns_list(conn: Conn, definition: bytes, key: str) -> bool:
    """Whether a job of that definition has come to own the list with this key."""
    rows = await conn.fetch(
        "SELECT 1 FROM jobs j JOIN sources s ON s.job = j.id"
        " WHERE j.definition = $1 AND s.location = $2 LIMIT 1",
        definition,
        key,
    )
    return bool(rows)


async def listings_before(conn: Conn, job: Job) -> list[int]:
    """Earlier jobs of the same definition, newest first, back to the last one that read its list to the
    end and crawled all of it: together their pages are what was listed then."""
    found: list[int] = []
    before: Job | None = job
    for _ in range(MOST_LISTINGS):
        before = await previous_of(conn, before) if before else None
        if before is None:
            break
        found.append(before.id)
        if before.open == 0 and before.stop is None and not await _unread(conn, before.id):
            break
    return found


async def _unread(conn: Conn, job: int) -> bool:
    return bool(await conn.fetch("SELECT 1 FROM sources WHERE job = $1 AND state <> 'read' LIMIT 1", job))


async def absent(
    conn: Conn, listed_by: int, job: int, target: str, after: int, limit: int
) -> tuple[int | None, list[Snapshot]]:
    """Of the next URLs that the job `listed_by` had, those with a snapshot which `job` does not list; and
    the place to go on after, None at the end."""
    rows = await conn.fetch(
        "SELECT seq, url FROM pages WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        listed_by,
        after,
        limit,
    )
    keys = {key16(url): None for _, url in rows}
    last = rows[-1][0] if len(rows) == limit else None
    if not keys:
        return last, []
    for (key,) in await conn.fetch(
        "SELECT url_key FROM seen WHERE job = $1 AND url_key IN $2", job, sorted(keys)
    ):
        del keys[bytes(key)]
    if not keys:
        return last, []
    known = await conn.fetch(SNAPSHOTS, sorted(keys), target)
    by_key = {bytes(r[0]): Snapshot(r[1], r[2], r[3], r[4], r[5], r[6], r[7].encode(), r[8]) for r in known}
    return last, [by_key[key] for key in keys if key in by_key]


async def last_change(conn: Conn, job: int, at_least: int) -> int:
    """The highest place in the job's diff from `at_least` on, or the one before it."""
    rows = await conn.fetch(
        "SELECT seq FROM changes WHERE job = $1 AND seq >= $2 ORDER BY seq DESC LIMIT 1", job, at_least
    )
    return int(rows[0][0]) if rows else at_least - 1
