"""What a job found, read a piece at a time: pages, failures, changes."""

from typing import Any

from msgspec import Struct

from fyke.core.outcome import Change
from fyke.store.conn import Conn, Row

__all__ = ["Failure", "PageFilter", "PageView", "list_changes", "list_failures", "list_pages"]

PAGE = (
    "seq, url, final_url, http_status, fetched_at, title, h1, content_hash, bytes_in, data_full, data_seo,"
    " error_class, error_message, retry_count, strategy_used, proxy_used, state, elapsed_ms"
)
CHANGE = (
    "seq, url, change_type, curr_at, prev_at, fields_changed, price_prev, price_curr, availability_prev,"
    " availability_curr, title_prev, title_curr"
)


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


class Failure(Struct, frozen=True, gc=False):
    """A page that failed, and how."""

    seq: int
    url: str
    error_class: str
    error_message: str | None
    http_status: int | None


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


async def list_failures(conn: Conn, job: int, after: int | None, limit: int) -> list[Failure]:
    """Pages with an error, in the plan's order."""
    rows = await _list(
        conn,
        "SELECT seq, url, error_class, error_message, http_status FROM pages",
        job,
        [("error_class <> ${}", ""), ("seq > ${}", after)],
        limit,
    )
    return [Failure(*row) for row in rows]


async def list_changes(
    conn: Conn, job: int, change_type: str | None, after: int | None, limit: int
) -> list[Change]:
    """Rows of the diff, in the plan's order."""
    conditions = [("seq > ${}", after), ("change_type = ${}", change_type)]
    return [
        Change(*row) for row in await _list(conn, f"SELECT {CHANGE} FROM changes", job, conditions, limit)
    ]
