"""How commands reach the API: over HTTP where a server listens, else within this process.

One way of doing things, whether a server runs or not: the same checks, the same answers.
"""

import asyncio
import http.client
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from fyke.api.app import create_app
from fyke.api.auth import digest_of, new_token
from fyke.cli.admin_key import ensure_admin_key
from fyke.cli.announce import announced
from fyke.cli.server import Behind
from fyke.core.errors import (
    Authentication,
    BadRequest,
    Conflict,
    Forbidden,
    FykeError,
    Invalid,
    NotFound,
    Refused,
)
from fyke.settings import Settings
from fyke.store.conn import Database
from fyke.store.keys import create_key, find_key, revoke_key
from fyke.wiring import open_base

__all__ = ["Api", "reach"]

ERRORS: dict[int, type[FykeError]] = {
    400: BadRequest,
    401: Authentication,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: Invalid,
}
CODES: Mapping[str, type[FykeError]] = {"egress_refused": Refused}  # whose status alone says too little


class Answer(Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    async def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer: ...


class Http:
    """A server that listens."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port

    async def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return await asyncio.to_thread(self._send, method, target, headers, body)

    def _send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            connection.request(method, target, body or None, dict(headers))
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except OSError as error:
            raise FykeError(f"the server at {self.host}:{self.port} does not answer: {error}") from None
        finally:
            connection.close()


class Within:
    """The API's application, called without a socket."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 0),
        }
        asked = [{"type": "http.request", "body": body, "more_body": False}]
        status, found, pieces = 500, dict[str, str](), list[bytes]()

        async def receive() -> Any:
            if asked:
                return asked.pop()
            await asyncio.Event().wait()  # nobody hangs up
            return None

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                found.update({k.decode().lower(): v.decode() for k, v in message["headers"]})
            elif message["type"] == "http.response.body":
                pieces.append(message.get("body", b""))

        await self.app(scope, receive, send)
        return Answer(status, found, b"".join(pieces))


class Api:
    """Calls of the API that give its data, or raise its error."""

    def __init__(self, transport: Transport, token: str) -> None:
        self.transport = transport
        self.token = token

    async def raw(self, method: str, path: str, body: Any = None) -> bytes:
        headers = {"authorization": f"Bearer {self.token}", "host": "localhost"}
        data = b""
        if body is not None:
            data = msgspec.json.encode(body)
            headers |= {"content-type": "application/json", "content-length": str(len(data))}
        answer = await self.transport.send(method, f"/api/v1{path}", headers, data)
        if answer.status >= 400:
            raise _error(answer)
        return answer.body

    async def call(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        return (await self._envelope(method, path, body, query))["data"]

    async def workers(self) -> int:
        """How many workers there are; who works on jobs holds a lease."""
        answer = await self.transport.send("GET", "/health", {"host": "localhost"}, b"")
        try:
            workers = msgspec.json.decode(answer.body)["workers"]
            return sum(worker["state"] != "disconnected" for worker in workers)
        except (msgspec.DecodeError, KeyError, TypeError):
            raise _error(answer) from None

    async def every(self, path: str, limit: int | None = None, **query: Any) -> AsyncIterator[Any]:
        """The items of a list, page by page."""
        cursor = None
        left = limit
        while True:
            size = 500 if left is None else min(500, left)
            envelope = await self._envelope("GET", path, None, {**query, "limit": size, "cursor": cursor})
            for item in envelope["data"]:
                yield item
            cursor = (envelope["meta"].get("paging") or {}).get("next")
            left = None if left is None else left - len(envelope["data"])
            if not cursor or left == 0:
                return

    async def _envelope(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> Any:
        given = {k: v for k, v in query.items() if v is not None}
        target = f"{path}?{urlencode(given)}" if given else path
        answer = await self.raw(method, target, body)
        return msgspec.json.decode(answer) if answer else {"data": None, "meta": {}}


def _error(answer: Answer) -> FykeError:
    kind = ERRORS.get(answer.status, FykeError)
    try:
        error = msgspec.json.decode(answer.body)["error"]
        return CODES.get(error["code"], kind)(error["message"], **error["details"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return kind(f"the server answered {answer.status}")


@asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator[Api]:
    """The API of the server that runs on this data directory, or of this process if there is none."""
    key_file = settings.data_dir / "admin.key"
    address = await asyncio.to_thread(announced, settings.data_dir)
    if address is not None:
        yield Api(Http(address.host, address.port), await asyncio.to_thread(_token, key_file))
        return
    base = await open_base(settings)
    await base.start()
    try:
        await ensure_admin_key(base.database, key_file)
        async with _own_key(base.database, key_file) as token:
            yield Api(Within(create_app(Behind(base))), token)
    finally:
        await base.stop()


@asynccontextmanager
async def _own_key(database: Database, key_file: Path) -> AsyncIterator[str]:
    """The admin key of the data directory; where it opens nothing, one for the time of this command."""
    kept = await asyncio.to_thread(_kept, key_file)
    found = await database.read(lambda conn: find_key(conn, digest_of(kept))) if kept else None
    if found is not None and "admin" in found.scopes:
        yield kept
        return
    token = new_token()
    key = await database.write(
        lambda conn: create_key(conn, "command line", digest_of(token), frozenset({"admin"}))
    )
    try:
        yield token
    finally:
        await database.write(lambda conn: revoke_key(conn, key.id))


def _kept(key_file: Path) -> str:
    return key_file.read_text().strip() if key_file.exists() else ""


def _token(key_file: Path) -> str:
    text = _kept(key_file)
    if not text:
        raise Authentication(f"a server runs, but its admin key is not in {key_file}")
    return text
