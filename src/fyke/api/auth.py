"""Who may do what. A key's token has 256 random bits; what is kept is its SHA-256.

The scopes: `read` looks, `submit` makes and changes jobs, `worker` is for workers that join over the
network, `admin` may do everything, keys included.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, Final

import structlog
from fastapi import Request, Response
from fastapi.routing import APIRoute

from fyke.core.clock import monotonic
from fyke.core.errors import Authentication, Forbidden, StoreError
from fyke.store.conn import Database
from fyke.store.keys import Key, find_key, touch_key

__all__ = ["Keys", "caller", "digest_of", "guarded", "new_token", "token_of"]

log = structlog.get_logger("fyke.api")

PREFIX: Final = "fyke_"
LENGTH: Final = len(PREFIX) + 43
CACHE_SECONDS: Final = 5.0
CACHE_SIZE: Final = 1000
TOUCH_SECONDS: Final = 60.0
BEARER: Final = "bearer"


def new_token(secret: bytes | None = None) -> str:
    """A fresh token; or the one that 32 secret bytes spell."""
    return PREFIX + urlsafe_b64encode(secret or secrets.token_bytes(32)).rstrip(b"=").decode()


def digest_of(token: str) -> bytes:
    return sha256(token.encode()).digest()


def token_of(request: Request) -> str | None:
    """The token as it came: `Authorization: Bearer`, `X-Api-Key` or `X-Service-Key`. Who sends several
    headers means one key: anything else beside it is refused, whichever of them is good."""
    given = request.headers.getlist("x-api-key") + request.headers.getlist("x-service-key")
    for authorization in request.headers.getlist("authorization"):
        scheme, _, token = authorization.strip().partition(" ")
        given.append(token if scheme.lower() == BEARER else "")  # which nobody has
    tokens = {token.strip() for token in given}
    if len(tokens) > 1:
        raise Authentication("several API keys are given that are not the same: send one")
    return next(iter(tokens), None)


class Keys:
    """Finds keys by their tokens. What was found holds for a few seconds, so a revoked key does too."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._known: OrderedDict[bytes, tuple[float, Key]] = OrderedDict()
        self._touched: dict[int, float] = {}

    async def authenticate(self, token: str | None) -> Key:
        if token is None:
            raise Authentication
        if not (len(token) == LENGTH and token.startswith(PREFIX) and token.isascii()):
            raise Authentication("the API key is not valid")
        digest = digest_of(token)
        key = self._remembered(digest)
        if key is None:
            key = await self.database.read(lambda conn: find_key(conn, digest))
            if key is None or not hmac.compare_digest(key.hash, digest):
                raise Authentication("the API key is not valid")
            self._known[digest] = monotonic(), key
            while len(self._known) > CACHE_SIZE:
                self._known.popitem(last=False)
        await self._touch(key.id)
        return key

    def forget(self) -> None:
        """Look everything up anew."""
        self._known.clear()

    def _remembered(self, digest: bytes) -> Key | None:
        found = self._known.get(digest)
        if found is None or monotonic() - found[0] > CACHE_SECONDS:
            return None
        return found[1]

    async def _touch(self, key: int) -> None:
        now = monotonic()
        if now - self._touched.get(key, -TOUCH_SECONDS) < TOUCH_SECONDS:
            return
        if len(self._touched) > CACHE_SIZE:
            self._touched.clear()
        self._touched[key] = now
        try:
            await self.database.write(lambda conn: touch_key(conn, key), urgent=True)
        except StoreError as error:  # a full disk is no reason to refuse who only reads
            log.warning("key_use_not_noted", reason=error.message)


def caller(request: Request) -> Key:
    """The key of an authenticated request."""
    key: Key = request.state.key
    return key


def guarded(scope: str) -> type[APIRoute]:
    """A route that asks for a key with `scope` before it reads anything else of the request."""

    class Guarded(APIRoute):
        needs = scope

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def handle(request: Request) -> Response:
                keys: Keys = request.app.state.keys
                key = await keys.authenticate(token_of(request))
                if scope not in key.scopes and "admin" not in key.scopes:
                    raise Forbidden(f"this needs a key with the scope {scope!r}", scope=scope)
                request.state.key = key
                return await handler(request)

            return handle

    return Guarded
