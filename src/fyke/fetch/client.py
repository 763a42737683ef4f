"""The plain HTTP client: Request -> Page | Failed.

What a server does is never an exception: it is a page, or a failure with its class. Redirects are
followed here and not in libcurl, since the guard and the caller have a say in every hop.
"""

from asyncio import AbstractEventLoop, TimerHandle, get_running_loop
from socket import gaierror
from typing import Final

import can_ada
import pycurl  # type: ignore[import-untyped]  # ships no types

from fyke.core import clock
from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.core.secrets import hide_login
from fyke.egress.addresses import parse
from fyke.egress.guard import Guard
from fyke.fetch.headers import REDIRECTS
from fyke.fetch.inflate import ACCEPT_ENCODING
from fyke.fetch.multi import ABORTED, Multi
from fyke.fetch.options import PAGES, ClientOptions, FetchOptions, Limits
from fyke.fetch.problems import Problem
from fyke.fetch.stream import Stream
from fyke.fetch.transfer import Ask, Transfer
from fyke.fetch.trip import Trip

__all__ = ["HttpClient"]

LOOK_EVERY: Final = 0.25  # seconds between looks at what is under way
MOST_ASKS: Final = 256
MOST_FORGETFUL: Final = 10_000
CONTROLS: Final = dict.fromkeys((*range(32), 127))


class HttpClient:
    """Fetches pages over connections that are kept open. `start` before the first, `stop` at the end."""

    def __init__(
        self,
        guard: Guard,
        limits: Limits | None = None,
        user_agent: str = "Fyke",
        options: ClientOptions | None = None,
    ) -> None:
        self._guard = guard
        self._limits = limits or Limits()
        self._user_agent = user_agent
        self._options = options or ClientOptions()
        self._multi: Multi | None = None
        self._loop: AbstractEventLoop
        self._idle: list[Transfer] = []
        self._busy: set[Transfer] = set()
        self._look: TimerHandle | None = None
        # By identity, which is quicker than by value; the options are kept so that it stays theirs.
        self._asks: dict[int, tuple[FetchOptions, Ask]] = {}
        self._forgetful: dict[str, None] = {}  # hosts that end kept connections without an answer

    async def start(self) -> None:
        self._loop = get_running_loop()
        self._multi = Multi(self._loop, self._options.connections)

    async def stop(self) -> None:
        """Abort what runs, close all connections. Twice is safe."""
        multi, self._multi = self._multi, None
        if multi is None:
            return
        if self._look is not None:
            self._look.cancel()
            self._look = None
        multi.close()
        for transfer in self._idle:
            transfer.close()
        self._idle.clear()

    async def fetch(self, request: Request, options: FetchOptions = PAGES) -> Page | Failed:
        """The page that the URL leads to, redirects followed."""
        trip = self._new_trip(request, options)
        multi = self._running()
        transfer = self._take()
        try:
            while True:
                problem = await self._prepare(trip, transfer)
                if problem is not None:
                    return trip.failed(problem)
                problem = transfer.finish(await multi.perform(transfer.curl))
                head = transfer.head
                trip.bytes_in += transfer.bytes_in
                if problem is not None or head is None:
                    return trip.failed(problem or (ErrorClass.PROTOCOL, "no response head came"), head)
                onward = self._onward(trip, transfer)
                if onward is False:
                    address = transfer.curl.getinfo(pycurl.PRIMARY_IP) or None
                    return trip.page(head, transfer.body(), address)
                if onward is not True:
                    return trip.failed(onward, head)
        finally:
            self._give(transfer)

    async def stream(self, request: Request, options: FetchOptions) -> Stream | Failed:
        """The response that the URL leads to, redirects followed, its body to be read piece by piece.
        Whoever gets a stream must close it."""
        trip = self._new_trip(request, options)
        while True:
            transfer = self._take()
            stream = Stream(self._running(), trip, transfer, self._give)
            handed_over = False
            try:
                problem = await self._prepare(trip, transfer) or await stream.begin()
                if problem is not None:
                    trip.bytes_in = stream.bytes_in
                    return trip.failed(problem, transfer.head)
                onward = self._onward(trip, transfer)
                if onward is False:
                    handed_over = True
                    return stream
                trip.bytes_in = stream.bytes_in
                if onward is not True:
                    return trip.failed(onward, transfer.head)
            finally:
                if not handed_over:
                    stream.close()

    def _running(self) -> Multi:
        if self._multi is None:
            raise RuntimeError("the client is not started, or has been stopped")
        return self._multi

    def _new_trip(self, request: Request, options: FetchOptions) -> Trip:
        total = request.timeout or options.timeout or self._limits.total * options.patience
        return Trip(request, options, self._ask(request, options), total)

    def _ask(self, request: Request, options: FetchOptions) -> Ask:
        plain = not (request.etag or request.last_modified or request.max_bytes)
        known = self._asks.get(id(options)) if plain else None
        if known is not None:
            return known[1]
        lines = [
            f"User-Agent: {options.user_agent or self._user_agent}",
            f"Accept: {options.accept}",
            f"Accept-Encoding: {ACCEPT_ENCODING}",
        ]
        if request.etag:
            lines.append(f"If-None-Match: {request.etag}")
        if request.last_modified:
            lines.append(f"If-Modified-Since: {request.last_modified}")
        ask = Ask(
            headers=tuple(line.translate(CONTROLS).encode("latin-1", "replace") for line in lines),
            types=options.types,
            body_bytes=request.max_bytes or options.max_bytes or self._limits.body_bytes,
            inflated_bytes=options.max_inflated or self._limits.inflated_bytes,
            truncate=options.truncate,
            once=options.once,
        )
        if plain:
            if len(self._asks) >= MOST_ASKS:
                self._asks.clear()
            self._asks[id(options)] = (options, ask)
        return ask

    async def _prepare(self, trip: Trip, transfer: Transfer) -> Problem | None:
        """Let the guard judge the next hop, and set the handle to it."""
        admission = self._guard.admit(trip.url)
        if admission.refusal is not None:
            trip.url = hide_login(trip.url)  # it is kept with the failure
            kind = ErrorClass.REFUSED if admission.readable else ErrorClass.INVALID_URL
            return kind, admission.refusal
        if trip.url != admission.href:  # asked for in another spelling, or with a fragment
            trip.url = admission.href.partition("#")[0]
        left = trip.time_left()
        if left <= 0:
            return ErrorClass.TIMEOUT, f"not done within {trip.total:g} s, redirects included"
        fresh = bool(self._forgetful) and admission.host in self._forgetful
        transfer.prepare(admission.href, admission.host, trip.hop_ask(admission.host), left, fresh)
        if self._guard.resolver is not None:
            problem = await self._pin(admission.href, admission.host, transfer)
            if problem is not None:
                return problem
        transfer.begun_at = clock.monotonic() if trip.history else trip.begun
        if self._look is None:
            self._look = self._loop.call_later(LOOK_EVERY, self._look_around)
        return None

    async def _pin(self, href: str, host: str, transfer: Transfer) -> Problem | None:
        """Connect to what the resolver that was given says."""
        resolver = self._guard.resolver
        if resolver is None or parse(host) is not None:
            return None
        try:
            addresses = list(await resolver(host))
        except (gaierror, OSError) as error:
            return ErrorClass.DNS, f"{host} cannot be resolved: {error}"
        if not addresses:
            return ErrorClass.DNS, f"{host} has no address"
        parsed = can_ada.parse(href)
        transfer.pin(host, int(parsed.port or (443 if parsed.protocol == "https:" else 80)), addresses)
        return None

    def _onward(self, trip: Trip, transfer: Transfer) -> Problem | bool:
        """Whether the trip goes on to another URL."""
        head = transfer.head
        if head is None or head.status not in REDIRECTS:
            return False
        target = head.get("location")
        if not target:
            return False
        most = trip.options.redirects
        return trip.redirect(head, target, self._limits.redirects if most is None else most, self._admits)

    def _admits(self, url: str) -> bool:
        return self._guard.admit(url).refusal is None

    def _take(self) -> Transfer:
        transfer = self._idle.pop() if self._idle else Transfer(self._guard, self._limits, self._options)
        self._busy.add(transfer)
        return transfer

    def _give(self, transfer: Transfer) -> None:
        """Take a handle back, whatever became of its transfer."""
        self._busy.discard(transfer)
        if self._multi is None:
            transfer.close()
            return
        self._multi.abort(transfer.curl, (ABORTED, "given up"))
        if transfer.lost:
            self._ask_afresh(transfer.host)
        transfer.chunks = []
        self._idle.append(transfer)

    def _ask_afresh(self, host: str) -> None:
        """From now on each request to the host has a connection of its own: on a kept one the next attempt
        would end as this one did."""
        self._forgetful[host] = None
        if len(self._forgetful) > MOST_FORGETFUL:
            self._forgetful.pop(next(iter(self._forgetful)))

    def _look_around(self) -> None:
        """Break off where nothing has come for too long, or nothing but headers, or more than can be seen in
        the body: libcurl's own limits there are none, and loose. Looking from time to time costs less than
        a timer and a count for each page."""
        self._look = None
        multi = self._multi
        if multi is None:
            return
        limits = self._limits
        late = clock.monotonic() - limits.first_byte
        for transfer in self._busy:
            if not transfer.lines:
                if 0 < transfer.begun_at < late:
                    message = f"no answer within {limits.first_byte:g} s"
                    multi.abort(transfer.curl, (pycurl.E_OPERATION_TIMEDOUT, message))
            elif transfer.head is None and len(transfer.lines) > limits.header_count:
                transfer.problem = (
                    ErrorClass.HEADERS_TOO_LARGE,
                    f"{len(transfer.lines)} header lines and no end of them",
                )
                multi.abort(transfer.curl, (ABORTED, ""))
                continue
            if transfer.overflows():
                multi.abort(transfer.curl, (ABORTED, ""))
        if self._busy:
            self._look = self._loop.call_later(LOOK_EVERY, self._look_around)
