"""API keys: made, listed, revoked; for admins."""

import hmac
import secrets
from hashlib import sha256
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request, Response

from fyke.api.auth import Keys, caller, digest_of, guarded, new_token, token_of
from fyke.api.cursor import paging, place_of
from fyke.api.envelope import reply
from fyke.api.inputs import KeyId, Parts
from fyke.api.once import IdempotencyKey, answered, created, earlier, recognised
from fyke.api.openapi import gives
from fyke.api.requests import KeyBody, ListQuery
from fyke.api.views import Deleted, KeyShown, NewKey, key_shown
from fyke.core.errors import Conflict
from fyke.core.ids import public
from fyke.store.conn import Conn
from fyke.store.idempotency import Answer
from fyke.store.keys import create_key, list_keys, revoke_key

__all__ = ["router"]

router = APIRouter(prefix="/keys", tags=["keys"], route_class=guarded("admin"))


@router.post("", **gives(NewKey, 201, "The key; its token is shown this once.", creates=True))
async def create(request: Request, services: Parts, body: KeyBody, key: IdempotencyKey = None) -> Response:
    """Make a key."""
    asked = recognised(request, key, body)
    answer = await earlier(services, asked)
    if answer is None:
        salt = secrets.token_bytes(32)

        async def make(conn: Conn) -> NewKey:
            digest = digest_of(_token(request, salt))
            made = await create_key(conn, body.name, digest, frozenset(body.scopes))
            return NewKey(**msgspec.structs.asdict(key_shown(made)), token=salt.hex())

        answer = await created(services, asked, make)
    shown = msgspec.json.decode(answer.data, type=NewKey)
    shown = msgspec.structs.replace(shown, token=_token(request, bytes.fromhex(shown.token)))
    return answered(Answer(answer.status, msgspec.json.encode(shown).decode(), answer.replayed))


def _token(request: Request, salt: bytes) -> str:
    """The new key's token, made of the caller's own token and a salt. The answer to a repeated request
    is kept with the salt alone: whoever reads the database learns no token from it."""
    return new_token(hmac.digest((token_of(request) or "").encode(), salt, sha256))


@router.get("", **gives(list[KeyShown], 200, "Keys, the newest first."))
async def list_all(services: Parts, query: Annotated[ListQuery, Query()]) -> Response:
    """List keys, without their tokens."""
    found = await services.database.read(
        lambda conn: list_keys(conn, place_of(query.cursor), query.limit + 1)
    )
    shown, where = paging(found, [key.id for key in found], query.limit)
    return reply([key_shown(key) for key in shown], paging=where)


@router.delete("/{key_id}", **gives(Deleted, 200, "The key is not accepted any more.", conflicts=True))
async def revoke(request: Request, services: Parts, key: KeyId) -> Response:
    """Revoke a key, but not the one in use. Other processes may accept it for five seconds more."""
    if key == caller(request).id:
        raise Conflict("this key is the one in use: revoke it with another")
    await services.database.write(lambda conn: revoke_key(conn, key), urgent=True)
    keys: Keys = request.app.state.keys
    keys.forget()
    return reply(Deleted(public(key), True))
