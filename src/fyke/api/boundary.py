"""What holds for every request, before and after anything else: its id, limits, errors, counts."""

import asyncio
import re
from typing import Final
from uuid import uuid4

import structlog
from prometheus_client import CollectorRegistry, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fyke.api.envelope import REQUEST_ID, problem
from fyke.core.clock import monotonic

__all__ = ["NOT_STORED", "SECURITY", "BodyLimits", "Boundary", "RequestMeter", "request_id"]

log = structlog.get_logger("fyke.api")

UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
API: Final = "/api/v1"
MAX_BODY: Final = 64 << 20
BODY_TIMEOUT: Final = 30.0  # seconds without a byte of the body
SECURITY: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOT_STORED: Final = {"Cache-Control": "no-store", "Content-Security-Policy": "default-src 'none'"}


class RequestMeter:
    """How long requests take, by route."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.seconds = Histogram(
            "fyke_http_request_seconds",
            "Seconds to the start of the answer, by route, method and status.",
            ["route", "method", "status"],
            registry=registry,
            buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30),
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        known = scope["method"] in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
        route = getattr(scope.get("route"), "path", None) or "other"
        if scope["path"].startswith(f"{API}/") and not route.startswith(API) and route != "other":
            route = API + route  # the framework tells the path within the router
        self.seconds.labels(route, scope["method"] if known else "other", str(status)).observe(seconds)


class Boundary:
    """The outermost layer: the request's id and the headers that every answer carries."""

    def __init__(self, app: ASGIApp, meter: RequestMeter) -> None:
        self.app = app
        self.meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        identity = request_id(Headers(scope=scope).get("x-request-id"))
        REQUEST_ID.set(identity)
        structlog.contextvars.bind_contextvars(request_id=identity)
        started = monotonic()

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = identity
                for name, value in (SECURITY | NOT_STORED).items():
                    headers.setdefault(name, value)
                self.meter.observe(scope, message["status"], monotonic() - started)
                log.debug("request", method=scope["method"], path=scope["path"], status=message["status"])
            await send(message)

        await self.app(scope, receive, send_on)


def request_id(given: str | None) -> str:
    """The caller's id, letter for letter, if it is a UUID; else a new one."""
    return given if given is not None and UUID.fullmatch(given) else str(uuid4())


class BodyLimits:
    """Inside: a body that is too large or too slow is refused, and a bug answers 500 and is logged."""

    def __init__(self, app: ASGIApp, max_body: int = MAX_BODY, body_timeout: float = BODY_TIMEOUT) -> None:
        self.app = app
        self.max_body = max_body
        self.body_timeout = body_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, self._limited(scope, receive), send_on)
        except Exception:  # a bug of ours: the caller gets an id to ask about, the log the rest
            log.exception("request_crashed", method=scope["method"], path=scope["path"])
            if started:
                raise
            answer = problem(500, "internal_error", "Something went wrong; the log has it under this id.")
            await answer(scope, receive, send)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        length = Headers(scope=scope).get("content-length", "")
        left = self.max_body
        whole = False

        async def receive_some() -> Message:
            nonlocal left, whole
            if whole:
                return await receive()
            if length.isdigit() and int(length) > self.max_body:
                raise HTTPException(413, f"the body is larger than {self.max_body} bytes")
            try:
                async with asyncio.timeout(self.body_timeout):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"no body came for {self.body_timeout:.0f} seconds") from None
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, f"the body is larger than {self.max_body} bytes")
            whole = not message.get("more_body", False)
            return message

        return receive_some
