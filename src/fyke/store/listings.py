"""What the jobs of a definition have listed, to tell what a later one lists no more.

A listing is whole when the job's list was read to its end and all of it was crawled, well or badly: what is
listed no more counts from the last whole listing on. Jobs that listed nothing, and those that followed links,
are no listings. Of a job that is deleted, the URLs that have a snapshot stay, until there is a later whole
listing of its definition: otherwise nobody would know any more that the definition had them.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fyke.core.diff import Snapshot
from fyke.core.ids import key16
from fyke.store.conn import Conn, Row

__all__ = [
    "LISTED",
    "SourceState",
    "absent",
    "forget_listings",
    "is_list",
    "keep_listed",
    "kept_listings",
    "listings_before",
    "read_whole",
    "sources_of",
    "still_needed",
]

LISTED = 3  # the value of jobs.hidden of a deleted job of which only the listing is left
KEPT_PAGES = 1 << 62  # how far the pages of a kept listing lie before their places in the job
MOST_LISTINGS = 20  # earlier jobs looked at for one whose listing is whole
FIRST = -(1 << 63)
WHOLE = ["succeeded", "partial", "failed"]  # states of jobs that were neither stopped nor cut short

SNAPSHOTS = """
    SELECT url_key, url, domain, target, last_hash, last_title, last_h1, last_data, last_crawl_at
    FROM snapshots WHERE url_key IN $1 AND target = $2"""


class SourceState(Struct, frozen=True):
    """How the reading of one of a job's sources stands: waiting, reading, read or failed."""

    number: int
    kind: str
    location: str
    state: str
    entries: int
    warnings: int
    message: str | None


async def sources_of(conn: Conn, job: int) -> list[SourceState]:
    rows = await conn.fetch(
        "SELECT number, kind, location, state, entries, warnings, message FROM sources"
        " WHERE job = $1 AND (state <> 'read' OR number < 1000) ORDER BY number LIMIT 2000",
        job,
    )
    return [SourceState(*row) for row in rows]


def is_list(source_kind: str, sources: Iterable[SourceState]) -> bool:
    """Whether the job's URLs come from a list. A site that has none is one entry, the others are links."""
    return source_kind != "site" or any(s.kind == "sitemap" or s.entries > 1 for s in sources)


def read_whole(sources: Iterable[SourceState]) -> bool:
    return all(source.state == "read" for source in sources)


async def listings_before(conn: Conn, definition: bytes, job: int) -> list[int]:
    """Earlier jobs of the same definition, newest first, back to the last whole listing: together their
    pages are what was listed then. Jobs that are deleted by now are among them."""
    found: list[int] = []
    rows = await conn.fetch(
        "SELECT id, source_kind, state, planned FROM jobs WHERE definition = $1 AND id < $2 AND total > 0"
        " ORDER BY id DESC LIMIT $3",
        definition,
        job,
        MOST_LISTINGS,
    )
    for identity, kind, state, planned in rows:
        sources = await sources_of(conn, identity)
        if not is_list(kind, sources):
            continue
        found.append(identity)
        if planned and state in WHOLE and read_whole(sources):
            break
    return found


async def absent(
    conn: Conn, listed_by: int, job: int, target: str, after: int | None, limit: int
) -> tuple[int | None, list[Snapshot]]:
    """Of the next URLs that the job `listed_by` had, those with a snapshot which `job` does not list; and
    the place to go on after, None at the end."""
    rows = await conn.fetch(
        "SELECT seq, url FROM pages WHERE job = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        listed_by,
        FIRST if after is None else after,
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


# --- of deleted jobs ---


async def still_needed(conn: Conn, job: int) -> bool:
    """Whether there is no later whole listing that makes this job's needless."""
    rows = await conn.fetch("SELECT definition, source_kind, total FROM jobs WHERE id = $1", job)
    if not rows:
        return False  # another process was faster
    definition, kind, total = rows[0]
    if not total or not is_list(kind, await sources_of(conn, job)):
        return False
    later = await conn.fetch(
        "SELECT id, source_kind FROM jobs WHERE definition = $1 AND id > $2 AND total > 0 AND planned = 1"
        " AND phase = 'done' AND state IN $3 ORDER BY id DESC LIMIT $4",
        bytes(definition),
        job,
        WHOLE,
        MOST_LISTINGS,
    )
    for identity, kind in later:
        sources = await sources_of(conn, identity)
        if is_list(kind, sources) and read_whole(sources):
            return False
    return True


async def keep_listed(conn: Conn, job: int, limit: int) -> int:
    """Of the job's next pages keep the URLs that have a snapshot, and nothing else; how many there were."""
    rows = await conn.fetch(
        "SELECT seq, url, task FROM pages WHERE job = $1 AND seq >= 0 ORDER BY seq LIMIT $2", job, limit
    )
    if rows:
        await conn.execute("DELETE FROM pages WHERE job = $1 AND seq >= 0 AND seq <= $2", job, rows[-1][0])
        await conn.insert("pages", ("job", "seq", "task", "state", "url"), await _known(conn, job, rows))
    return len(rows)


async def _known(conn: Conn, job: int, pages: Sequence[Row]) -> Sequence[Row]:
    target = await conn.fetch("SELECT target FROM jobs WHERE id = $1", job)
    if not target:
        return []  # another process was faster
    keyed = {key16(url): (job, seq - KEPT_PAGES, task, "listed", url) for seq, url, task in pages}
    known = await conn.fetch(
        "SELECT url_key FROM snapshots WHERE url_key IN $1 AND target = $2", sorted(keyed), target[0][0]
    )
    return sorted(keyed[bytes(key)] for (key,) in known)


async def kept_listings(conn: Conn, definition: bytes, job: int) -> list[int]:
    """Deleted jobs of the definition, before this one, whose listings are kept."""
    rows = await conn.fetch(
        "SELECT id FROM jobs WHERE definition = $1 AND id < $2 AND hidden = $3", definition, job, LISTED
    )
    return sorted(row[0] for row in rows)


async def forget_listings(conn: Conn, jobs: Sequence[int], purged: int) -> None:
    """Leave the listings to `purge`, which goes on with them at the stage `purged`."""
    await conn.execute("UPDATE jobs SET hidden = $3 WHERE id IN $1 AND hidden = $2", jobs, LISTED, purged)
