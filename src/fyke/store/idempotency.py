"""Once only: the answer to a creating request is kept in the transaction that creates.

The row is claimed before anything else is done: a twin that runs at the same time waits for it, finds
the answer, and creates nothing. A crash leaves neither the row nor what it stands for.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.errors import Invalid
from fyke.store.conn import Conn

__all__ = ["KEPT", "Answer", "Mismatch", "Once", "forget_old", "once", "recall"]

KEPT: Final = 24 * 3600 * SECOND
CHUNK: Final = 500
PENDING: Final = 0  # the status of a row whose answer is still being made


class Mismatch(Invalid):
    """This Idempotency-Key was used with another request."""

    code = "idempotency_mismatch"


class Once(Struct, frozen=True):
    """A request as it is recognised: who asked under which key, and what for (SHA-256 each)."""

    key_hash: bytes
    body_hash: bytes


class Answer(Struct, frozen=True):
    """What a request was answered: the status and the data as JSON."""

    status: int
    data: str
    replayed: bool = False


async def recall(conn: Conn, request: Once) -> Answer | None:
    """The answer given before, if there is one; Mismatch when it was given to another request."""
    rows = await conn.fetch(
        "SELECT body_hash, status, response, created_at FROM idempotency WHERE key_hash = $1",
        request.key_hash,
    )
    if not rows or rows[0][3] < await conn.now() - KEPT:
        return None
    body_hash, status, data, _ = rows[0]
    if bytes(body_hash) != request.body_hash:
        raise Mismatch
    return Answer(status, data, replayed=True)


async def once(conn: Conn, request: Once | None, make: Callable[[Conn], Awaitable[Answer]]) -> Answer:
    """Make the answer, or give the one that was made before. To be called first in a transaction."""
    if request is None:
        return await make(conn)
    now = await conn.now()
    await conn.execute(
        "DELETE FROM idempotency WHERE key_hash = $1 AND created_at < $2", request.key_hash, now - KEPT
    )
    await conn.insert(
        "idempotency",
        ("key_hash", "body_hash", "status", "response", "created_at"),
        [(request.key_hash, request.body_hash, PENDING, "", now)],
        on="ignore",
    )
    rows = await conn.fetch(
        "SELECT body_hash, status, response FROM idempotency WHERE key_hash = $1{lock}", request.key_hash
    )
    body_hash, status, data = rows[0]
    if bytes(body_hash) != request.body_hash:
        raise Mismatch
    if status != PENDING:  # no other transaction's pending row can be seen: this one is not ours
        return Answer(status, data, replayed=True)
    answer = await make(conn)
    await conn.execute(
        "UPDATE idempotency SET status = $2, response = $3 WHERE key_hash = $1",
        request.key_hash,
        answer.status,
        answer.data,
    )
    return answer


async def forget_old(conn: Conn) -> int:
    """Forget some of the answers that are no longer kept; how many, CHUNK when there may be more."""
    before = await conn.now() - KEPT
    rows = await conn.fetch(
        "SELECT key_hash FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2", before, CHUNK
    )
    if rows:
        await conn.execute("DELETE FROM idempotency WHERE key_hash IN $1", [bytes(row[0]) for row in rows])
    return len(rows)
