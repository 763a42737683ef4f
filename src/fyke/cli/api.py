"""How commands reach the API: over HTTP where a server listens, else within this process.

One way of doing things, whether a server runs or not: the same checks, the same answers.
"""

import asyncio
import http.client
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from fyke.api.app import create_app
from fyke.api.auth import digest_of, new_token
from fyke.cli.admin_key import ensure_admin_key
from fyke.cli.server import Behind
from fyke.core.errors import Authentication, BadRequest, Conflict, Forbidden, FykeError, Invalid, NotFound
from fyke.settings import Settings
from fyke.store.keys import create_key, revoke_key
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
        return kind(error["message"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return kind(f"the server answered {answer.status}")


@asynccontextmanager
async def reach(settings: Settings) -> AsyncIterator[Api]:
    """The API of a server at the configured address, or of this process if none listens there."""
    key_file = settings.data_dir / "admin.key"
    if await _listens(settings.host, settings.port):
        yield Api(
            Http(settings.host, settings.port), _token(key_file.read_text() if key_file.exists() else "")
        )
        return
    base = await open_base(settings)
    await base.start()
    try:
        await ensure_admin_key(base.database, key_file)
        token = new_token()
        key = await base.database.write(
            lambda conn: create_key(conn, "command line", digest_of(token), frozenset({"admin"}))
        )
        try:
            yield Api(Within(create_app(Behind(base))), token)
        finally:
            await base.database.write(lambda conn: revoke_key(conn, key.id))
    finally:
        await base.stop()


def _token(text: str) -> str:
    if not text.strip():
        raise Authentication("a server listens, but its admin key is not in the data directory")
    return text.strip()


async def _listens(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), 2)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
