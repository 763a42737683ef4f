"""Effects become rows: one function for each kind, in bulk, in the order of their keys."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fyke.core.diff import UNCHANGED, Snapshot, compare
from fyke.core.ids import key16
from fyke.core.outcome import (
    Change,
    Compare,
    EndJob,
    ForgetListings,
    Outcome,
    PageRow,
    SaveChanges,
    SaveExport,
    SaveRobots,
)
from fyke.store.conn import Conn, Row
from fyke.store.exports import register_export
from fyke.store.hidden import NAMED
from fyke.store.listings import forget_listings

if TYPE_CHECKING:
    from fyke.store.queue.progress import JobDelta
    from fyke.store.queue.settle import TaskRow
    from fyke.store.queue.upkeep import Held

__all__ = ["CHANGE_COLUMNS", "PAGE_COLUMNS", "apply_effects", "save_pages"]

Pairs = Sequence[tuple["TaskRow", Outcome]]

PAGE_COLUMNS = [
    "job",
    "seq",
    "task",
    "state",
    "url",
    "final_url",
    "http_status",
    "fetched_at",
    "title",
    "h1",
    "content_hash",
    "bytes_in",
    "data_full",
    "data_seo",
    "error_class",
    "error_message",
    "retry_count",
    "strategy_used",
    "proxy_used",
    "elapsed_ms",
    "body_object",
    "body_offset",
    "body_length",
    "payload",
]

CHANGE_COLUMNS = [
    "job",
    "seq",
    "url",
    "change_type",
    "prev_at",
    "curr_at",
    "fields_changed",
    "price_prev",
    "price_curr",
    "availability_prev",
    "availability_curr",
    "title_prev",
    "title_curr",
]


def clean(text: str | None, limit: int = 0) -> str | None:
    """Text that every database stores: PostgreSQL has no NUL, and none has half of a surrogate pair."""
    if text is None:
        return None
    if "\0" in text:
        text = text.replace("\0", "")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    return text[:limit] if limit else text


async def apply_effects(conn: Conn, now: int, pairs: Pairs, delta: "Callable[[int], JobDelta]") -> None:
    """Write what the outcomes brought, but for new tasks and sources, which settling adds itself."""
    found: dict[type, list[tuple[TaskRow, Any]]] = {}
    for row, outcome in pairs:
        for effect in outcome.effects:
            found.setdefault(type(effect), []).append((row, effect))
    if PageRow in found:
        await save_pages(conn, found[PageRow])
    if Compare in found:
        await _compare(conn, found[Compare])
    for _, effect in found.get(SaveChanges, ()):
        await _save_changes(conn, effect)
    if SaveRobots in found:
        await _save_robots(conn, [effect for _, effect in found[SaveRobots]])
    for _, effect in sorted(found.get(SaveExport, ()), key=lambda item: item[1].id):
        await register_export(conn, effect)
    listings = {job for _, effect in found.get(ForgetListings, ()) for job in effect.jobs}
    if listings:
        await forget_listings(conn, sorted(listings), NAMED)
    for _, effect in found.get(EndJob, ()):
        end = delta(effect.job)
        end.ended = True
        end.error_message = effect.error_message


async def save_pages(conn: Conn, pages: "Sequence[tuple[TaskRow | Held, PageRow]]") -> None:
    """Write the results of tasks; a page's earlier row gives way."""
    rows = [
        (
            task.job,
            p.seq,
            task.id,
            p.state,
            p.url,
            p.final_url,
            p.http_status,
            p.fetched_at,
            clean(p.title, 4000),
            clean(p.h1, 4000),
            p.content_hash,
            p.bytes_in,
            p.data_full.decode() if p.data_full is not None else None,
            p.data_seo.decode() if p.data_seo is not None else None,
            p.error_class,
            clean(p.error_message, 2000),
            p.retry_count,
            p.strategy_used,
            p.proxy_used,
            p.elapsed_ms,
            p.body_object,
            p.body_offset,
            p.body_length,
            p.payload.decode() if p.payload is not None else None,
        )
        for task, p in pages
    ]
    await conn.insert("pages", PAGE_COLUMNS, rows, on="update", key="job,seq")


async def _compare(conn: Conn, items: "Sequence[tuple[TaskRow, Compare]]") -> None:
    """Set what was read beside the last snapshots: the rows of the diff, and the new snapshots."""
    keyed = sorted(((key16(e.url), task.job, e) for task, e in items), key=lambda item: item[:2])
    rows = await conn.fetch(
        "SELECT url_key, target, url, domain, last_hash, last_title, last_h1, last_data, last_crawl_at"
        " FROM snapshots WHERE url_key IN $1",
        [key for key, _, _ in keyed],
    )
    known = {
        (bytes(r[0]), r[1]): Snapshot(r[2], r[3], r[1], r[4], r[5], r[6], r[7].encode(), r[8]) for r in rows
    }
    changes: list[Row] = []
    fresh: dict[tuple[bytes, str], Row] = {}
    same: dict[tuple[bytes, str], Row] = {}
    gone: list[tuple[bytes, str]] = []
    for key, job, seen in keyed:
        before = known.get((key, seen.target))
        change = compare(before, seen)
        if change is not None:
            changes.append(_change_row(job, change))
        if seen.gone:
            if before is not None:
                gone.append((key, seen.target))
        elif change is not None and change.change_type == UNCHANGED:
            same[key, seen.target] = (key, seen.target, seen.at)
        else:
            fresh[key, seen.target] = _snapshot_row(key, seen)
    await conn.insert("changes", CHANGE_COLUMNS, changes, on="update", key="job,seq")
    await conn.insert(
        "snapshots",
        [
            "url_key",
            "target",
            "url",
            "domain",
            "last_hash",
            "last_title",
            "last_h1",
            "last_data",
            "last_crawl_at",
        ],
        list(fresh.values()),
        on="update",
        key="url_key,target",
    )
    await conn.update("snapshots", ("url_key", "target"), ("last_crawl_at",), list(same.values()))
    await _forget(conn, gone)


def _snapshot_row(key: bytes, seen: Compare) -> Row:
    return (
        key,
        seen.target,
        seen.url,
        seen.domain[:255],
        seen.content_hash,
        clean(seen.title, 4000),
        clean(seen.h1, 4000),
        seen.data.decode(),
        seen.at,
    )


def _change_row(job: int, c: Change) -> Row:
    return (
        job,
        c.seq,
        c.url,
        c.change_type,
        c.prev_at,
        c.curr_at,
        c.fields_changed,
        c.price_prev,  # clean already: see core.diff
        c.price_curr,
        c.availability_prev,
        c.availability_curr,
        clean(c.title_prev, 4000),
        clean(c.title_curr, 4000),
    )


async def _save_changes(conn: Conn, effect: SaveChanges) -> None:
    rows = [_change_row(effect.job, change) for change in effect.changes]
    await conn.insert("changes", CHANGE_COLUMNS, rows, on="update", key="job,seq")
    await _forget(conn, [(key16(change.url), effect.target) for change in effect.changes])


async def _forget(conn: Conn, keys: Sequence[tuple[bytes, str]]) -> None:
    by_target: dict[str, list[bytes]] = {}
    for key, target in keys:
        by_target.setdefault(target, []).append(key)
    for target, some in by_target.items():
        await conn.execute("DELETE FROM snapshots WHERE url_key IN $1 AND target = $2", sorted(some), target)


async def _save_robots(conn: Conn, effects: Sequence[SaveRobots]) -> None:
    latest = {e.origin: e for e in effects}
    await conn.insert(
        "robots",
        ("origin_key", "origin", "verdict", "body", "fetched_at", "expires_at"),
        [
            (key16(e.origin), e.origin, e.verdict, e.body, e.fetched_at, e.expires_at)
            for e in sorted(latest.values(), key=lambda e: e.origin)
        ],
        on="update",
        key="origin_key",
    )
