"""`Idempotency-Key`: a creating request that is sent again creates nothing more.

A key belongs to the API key that sends it and to the request it came with: the same key with another
path or body is refused. The answer is kept for a day, in the transaction that creates.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from fastapi import Header, Request, Response
from msgspec import Raw
from pydantic import BaseModel

from fyke.api.auth import caller
from fyke.api.envelope import reply
from fyke.api.services import Services
from fyke.store.conn import Conn
from fyke.store.idempotency import Answer, Once, once, recall

__all__ = ["IdempotencyKey", "answered", "created", "earlier", "recognised"]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        include_in_schema=False,  # openapi.py tells of it: tools that make up values would use one for all
    ),
]


def recognised(request: Request, key: str | None, body: BaseModel) -> Once | None:
    """What a request is recognised by when it comes again."""
    if key is None:
        return None
    asked = f"{request.method} {request.url.path}\n{body.model_dump_json()}"
    return Once(sha256(f"{caller(request).id}\n{key}".encode()).digest(), sha256(asked.encode()).digest())


async def earlier(services: Services, request: Once | None) -> Answer | None:
    """The answer that the request had before, if it comes again."""
    if request is None:
        return None
    return await services.database.read(lambda conn: recall(conn, request))


async def created(
    services: Services, request: Once | None, make: Callable[[Conn], Awaitable[Any]], status: int = 201
) -> Answer:
    """Make a thing and keep what is shown of it as the answer, in one transaction; or find that a twin
    of the request has."""

    async def answer(conn: Conn) -> Answer:
        return Answer(status, msgspec.json.encode(await make(conn)).decode())

    return await services.database.write(lambda conn: once(conn, request, answer), urgent=True)


def answered(answer: Answer, **headers: str) -> Response:
    """The answer in its envelope."""
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    return reply(Raw(answer.data.encode()), answer.status, headers=headers)
