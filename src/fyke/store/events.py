"""Events of jobs, to be read on from a number; and a bell for those who wait for more."""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from fyke.store.conn import Conn

__all__ = ["Bell", "Event", "PageSeen", "pages_seen", "read_events"]


class Event(Struct, frozen=True, gc=False):
    """What one settling changed: counters as they were after it, and what it brought."""

    number: int
    at: int
    total: int
    succeeded: int
    failed: int
    skipped: int
    bytes: int
    planned: bool
    state: str
    close_reason: str | None
    pages: tuple[int, ...] = ()
    log: tuple[str, ...] = ()


class PageSeen(Struct, frozen=True, gc=False):
    """What a live event says of a page: nothing that was read from it."""

    seq: int
    url: str
    state: str
    http_status: int | None
    error_class: str | None
    bytes_in: int
    elapsed_ms: int
    change_type: str | None


class _Data(Struct, frozen=True, gc=False):
    total: int
    succeeded: int
    failed: int
    skipped: int
    bytes: int
    planned: bool
    state: str
    close_reason: str | None
    pages: tuple[int, ...] = ()
    log: tuple[str, ...] = ()


_decode = msgspec.json.Decoder(_Data).decode


async def read_events(conn: Conn, job: int, after: int, limit: int) -> list[Event]:
    """The events of a job that follow number `after`, in order."""
    rows = await conn.fetch(
        "SELECT number, at, data FROM events WHERE job = $1 AND number > $2 ORDER BY number LIMIT $3",
        job,
        after,
        limit,
    )
    return [Event(row[0], row[1], *msgspec.structs.astuple(_decode(row[2]))) for row in rows]


async def pages_seen(conn: Conn, job: int, seqs: Sequence[int]) -> dict[int, PageSeen]:
    """Pages of a job by their place in it; those that are gone are left out."""
    if not seqs:
        return {}
    rows = await conn.fetch(
        "SELECT p.seq, p.url, p.state, p.http_status, p.error_class, p.bytes_in, p.elapsed_ms, c.change_type"
        " FROM pages p LEFT JOIN changes c ON c.job = p.job AND c.seq = p.seq"
        " WHERE p.job = $1 AND p.seq IN $2",
        job,
        sorted(set(seqs)),
    )
    return {row[0]: PageSeen(*row) for row in rows}


class Bell:
    """Wakes everybody in this process who waits for it. Once it is closed, nobody is to wait any more."""

    def __init__(self) -> None:
        self.closed = False
        self._rung = asyncio.Event()

    def close(self) -> None:
        self.closed = True
        self.ring()

    def ring(self) -> None:
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    async def wait(self, timeout: float) -> None:
        """Return when it rings, or after `timeout` seconds."""
        if self.closed:
            return
        try:
            async with asyncio.timeout(timeout):
                await self._rung.wait()
        except TimeoutError:
            pass
