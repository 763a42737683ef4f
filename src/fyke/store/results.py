"""What a job found, read a piece at a time: pages, failures in groups, changes."""

from typing import Any

from msgspec import Struct

from fyke.core.outcome import Change
from fyke.core.urls import host_of
from fyke.store.conn import Conn, Row

__all__ = [
    "Failure",
    "FailureGroup",
    "PageFilter",
    "PageView",
    "body_of",
    "group_failures",
    "list_changes",
    "list_pages",
]

PAGE = (
    "seq, url, final_url, http_status, fetched_at, title, h1, content_hash, bytes_in, data_full, data_seo,"
    " error_class, error_message, retry_count, strategy_used, proxy_used, state, elapsed_ms, body_object"
)
CHANGE = (
    "seq, url, change_type, curr_at, prev_at, fields_changed, price_prev, price_curr, availability_prev,"
    " availability_curr, title_prev, title_curr"
)

GROUPS = """
    SELECT g.amount, g.host, p.seq, p.url, p.error_class, p.error_message, p.http_status
    FROM (
        SELECT error_class, {host} AS host, count(*) AS amount FROM pages
        WHERE job = $1 AND error_class <> '' GROUP BY error_class, {host}
        ORDER BY count(*) DESC, error_class, host LIMIT $2 OFFSET $3
    ) g
    JOIN (
        SELECT seq, error_class, {host} AS host,
            row_number() OVER (PARTITION BY error_class, {host} ORDER BY seq) AS number
        FROM pages WHERE job = $1 AND error_class <> ''
    ) r ON r.error_class = g.error_class AND r.host = g.host AND r.number <= $4
    JOIN pages p ON p.job = $1 AND p.seq = r.seq
    ORDER BY g.amount DESC, g.error_class, g.host, p.seq"""


class PageView(Struct, frozen=True, gc=False):
    """A page's row."""

    seq: int
    url: str
    final_url: str | None
    http_status: int | None
    fetched_at: int
    title: str | None
    h1: str | None
    content_hash: str | None
    bytes_in: int
    data_full: str | None
    data_seo: str | None
    error_class: str | None
    error_message: str | None
    retry_count: int
    strategy_used: str | None
    proxy_used: str | None
    state: str
    elapsed_ms: int
    body_object: str | None = None


class Failure(Struct, frozen=True, gc=False):
    """A page that failed, and how."""

    seq: int
    url: str
    error_class: str
    error_message: str | None
    http_status: int | None


class FailureGroup(Struct, frozen=True):
    """Failures of one class at one host: how many, and the first of them."""

    error_class: str
    host: str
    count: int
    first: list[Failure]


class PageFilter(Struct, frozen=True):
    """Which pages of a job to list, in its plan's order, after the one at `after`."""

    state: str | None = None
    error_class: str | None = None
    after: int | None = None
    limit: int = 50


async def _list(conn: Conn, select: str, job: int, wanted: list[tuple[str, Any]], limit: int) -> list[Row]:
    conditions, args = ["job = $1"], [job]
    for condition, value in wanted:
        if value is not None:
            args.append(value)
            conditions.append(condition.format(len(args)))
    args.append(limit)
    where = " AND ".join(conditions)
    return list(await conn.fetch(f"{select} WHERE {where} ORDER BY seq LIMIT ${len(args)}", *args))


async def list_pages(conn: Conn, job: int, wanted: PageFilter) -> list[PageView]:
    conditions = [
        ("seq > ${}", wanted.after),
        ("state = ${}", wanted.state),
        ("error_class = ${}", wanted.error_class),
    ]
    return [
        PageView(*row)
        for row in await _list(conn, f"SELECT {PAGE} FROM pages", job, conditions, wanted.limit)
    ]


async def body_of(conn: Conn, job: int, seq: int) -> tuple[str, int, int] | None:
    """Where the body of a page is kept; None when it is not, or there is no such page or job."""
    rows = await conn.fetch(
        "SELECT p.body_object, p.body_offset, p.body_length FROM pages p JOIN jobs j ON j.id = p.job"
        " WHERE p.job = $1 AND p.seq = $2 AND j.hidden = 0 AND p.body_object IS NOT NULL",
        job,
        seq,
    )
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


async def group_failures(conn: Conn, job: int, after: int, limit: int, samples: int) -> list[FailureGroup]:
    """Pages with an error by class and host, the most frequent first, after the first `after` groups; of
    each the first pages in the plan's order. Looks at all of the job's pages."""
    groups: dict[tuple[str, str], FailureGroup] = {}
    for count, host, *page in await conn.fetch(GROUPS, job, limit, after, samples):
        failure = Failure(*page)
        shown = host_of(failure.url) if host.startswith("[") else host
        found = FailureGroup(failure.error_class, shown, count, [])
        groups.setdefault((failure.error_class, host), found).first.append(failure)
    return list(groups.values())


async def list_changes(
    conn: Conn, job: int, change_type: str | None, after: int | None, limit: int
) -> list[Change]:
    """Rows of the diff, in the plan's order; those that are CHANGED are all but the UNCHANGED."""
    conditions: list[tuple[str, Any]] = [("seq > ${}", after)]
    if change_type == "CHANGED":
        conditions.append(("change_type <> ${}", "UNCHANGED"))
    else:
        conditions.append(("change_type = ${}", change_type))
    return [
        Change(*row) for row in await _list(conn, f"SELECT {CHANGE} FROM changes", job, conditions, limit)
    ]
