"""One easy handle of libcurl: set up once, used for one request after the other."""

from collections.abc import Callable
from socket import AF_INET, AF_INET6, socket
from typing import Any, Final

import pycurl  # type: ignore[import-untyped]  # ships no types
from msgspec import Struct

from fyke.core.page import ErrorClass
from fyke.egress.guard import Guard
from fyke.fetch.headers import REDIRECTS, Head, read_head, wanted_type
from fyke.fetch.inflate import BadEncoding, Inflater, inflater
from fyke.fetch.multi import Result
from fyke.fetch.options import ClientOptions, Limits
from fyke.fetch.problems import Problem, explain
from fyke.fetch.received import received

__all__ = ["Ask", "Transfer"]

BUFFER: Final = 64 * 1024
MOST_ASKED: Final = 2  # the server may have closed the first connection before it was asked
HIGH_WATER: Final = 16  # chunks (of 16 KiB) of a stream that wait to be read
NO_SOCKET: Final[int] = pycurl.SOCKET_BAD
PAUSE: Final[int] = pycurl.WRITEFUNC_PAUSE
PROCEED: Final[int] = pycurl.PREREQFUNC_OK
ABORT: Final[int] = pycurl.PREREQFUNC_ABORT
SWALLOWED: Final = 64 * 1024  # of the body of a redirect: enough to keep the connection
FRAMED: Final = (
    256 * 1024
)  # what head, framing and encryption may take besides the body, and a sixteenth of it


class Ask(Struct, frozen=True, gc=False):
    """What one hop asks for, and where it must stop."""

    headers: tuple[bytes, ...]
    types: tuple[str, ...]
    body_bytes: int
    inflated_bytes: int
    truncate: bool
    once: bool


class Transfer:
    """Receives one response and keeps watch over its size. `problem` is why it was broken off."""

    def __init__(self, guard: Guard, limits: Limits, options: ClientOptions) -> None:
        self._guard = guard
        self._limits = limits
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.problem: Problem | None = None
        self.head: Head | None = None
        self.wire = 0
        self.received = 0  # off the wire, framing and all, as far as a look has told
        self._received_before: int | None = None  # on the same connection
        self.begun_at = 0.0
        self.truncated = False
        self.paused = False
        self._resuming = False
        self.on_chunk: Callable[[], None] | None = None  # set for a stream: chunks stay raw and are fetched
        self.inflater: Inflater | None = None
        self._asked = 0
        self._unconnected: Problem | None = None  # why an address of the host was passed over
        self.host = ""
        self._ask: Ask
        self._inflated = 0
        self._left = 0
        self._redirect = False
        self._headers_set: tuple[bytes, ...] = ()
        self._timeout_set = 0
        self._fresh = False
        self.lost = False  # a kept connection ended without an answer
        self.curl = self._new_curl(options)

    def _new_curl(self, options: ClientOptions) -> pycurl.Curl:
        curl = pycurl.Curl()
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.PROXY, ""),  # never one from the environment: the guard would judge the proxy's address
            (pycurl.NETRC, pycurl.NETRC_IGNORED),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.BUFFERSIZE, BUFFER),
            (pycurl.CONNECTTIMEOUT_MS, int(self._limits.connect * 1000)),
            (pycurl.DNS_CACHE_TIMEOUT, options.dns_ttl),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
            (pycurl.PREREQFUNCTION, self._before_request),
            (pycurl.HEADERFUNCTION, self.lines.append),
            (pycurl.WRITEFUNCTION, self._on_body),
        ):
            curl.setopt(option, value)
        if options.ca_file is not None:
            curl.setopt(pycurl.CAINFO, options.ca_file)
        return curl

    def prepare(self, url: str, host: str, ask: Ask, timeout: float, fresh: bool = False) -> None:
        """Make ready for a request; what the last one set and this one wants alike is left alone."""
        self.lines.clear()
        self.chunks = []
        self.problem = None
        self.head = None
        self.wire = 0
        self.received = 0
        self._received_before = None
        self.truncated = False
        self.paused = False
        self._asked = 0
        self.lost = False
        self._unconnected = None
        self.host = host
        self._ask = ask
        self.inflater = None
        self._inflated = 0
        self._redirect = False
        curl = self.curl
        curl.setopt(pycurl.URL, url)
        if self._headers_set != ask.headers:
            curl.setopt(pycurl.HTTPHEADER, list(ask.headers))
            self._headers_set = ask.headers
        if self._fresh != fresh:
            curl.setopt(pycurl.FRESH_CONNECT, fresh)
            self._fresh = fresh
        milliseconds = max(1, int(timeout * 1000))
        if self._timeout_set != milliseconds:
            curl.setopt(pycurl.TIMEOUT_MS, milliseconds)
            self._timeout_set = milliseconds

    def pin(self, host: str, port: int, addresses: list[str]) -> None:
        """Connect to these addresses for `host`, whatever a resolver says."""
        self.curl.setopt(pycurl.RESOLVE, [f"+{host}:{port}:{','.join(addresses)}"])

    def finish(self, result: Result) -> Problem | None:
        """What went wrong, once the transfer is over."""
        code, message = result
        self.ensure_head()
        if self.problem is not None:
            return self.problem
        if code and self._unconnected is not None and self.head is None:
            return self._unconnected
        if code and not self.truncated:
            return explain(code, message)
        if self.head is not None and not self.head.whole:
            return (ErrorClass.CONNECTION_LOST, "the connection was closed in the middle of the headers")
        if self.inflater is not None and not self.inflater.whole and not self.truncated:
            return (ErrorClass.CONNECTION_LOST, "the compressed body ends in its middle")
        return None

    @property
    def bytes_in(self) -> int:
        """Bytes over the wire: head and body, or all that came, where a look has told of more."""
        told = self.wire + (self.head.size if self.head is not None else 0)
        return told if told > self.received else self.received

    def overflows(self) -> bool:
        """Whether more has come than the body may take, wherever the server put it. To be asked from time
        to time while it runs; on a connection used before, what came before the first time is not seen."""
        total = received(self.curl.getinfo(pycurl.ACTIVESOCKET))
        if total is None:
            return False
        if self.curl.getinfo(pycurl.NUM_CONNECTS) > 0:  # also when a kept connection turned out to be dead
            self._received_before = 0
        elif self._received_before is None:
            self._received_before = total - self.wire - sum(map(len, self.lines))
        self.received = total - self._received_before
        left = self._ask.body_bytes if self.head is None else self._left
        if self.received <= left + left // 16 + FRAMED:
            return False
        self.ensure_head()
        if self._ask.truncate or self._redirect:
            self.truncated = True
        elif self.problem is None:
            self.problem = (
                ErrorClass.BODY_TOO_LARGE,
                f"more than {left} bytes came, most of them around the body and not in it",
            )
        return True

    def ensure_head(self) -> None:
        """Read the head, if no body came that made us do so."""
        if self.head is None and self.lines:
            self._begin()

    def take_chunks(self) -> list[bytes]:
        """A stream's chunks that wait to be read."""
        chunks, self.chunks = self.chunks, []
        return chunks

    def resume(self) -> Result | None:
        """Let a transfer that was held go on; its result, should that be its end."""
        self.paused = False
        self._resuming = True  # libcurl hands over what it held in here, and takes no second pause
        try:
            self.curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as error:  # a limit was reached in what it had held
            return error.args[0], str(error.args[1])
        finally:
            self._resuming = False
        return None

    def body(self) -> bytes:
        """What came, inflated; of a redirect nothing: nobody reads it."""
        if self._redirect:
            return b""
        chunks = self.chunks
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def close(self) -> None:
        self.curl.close()

    def _open_socket(self, purpose: int, address: Any) -> int:
        """Called by libcurl for every connection, with the address it is about to be made to."""
        family, kind, protocol, peer = address
        refusal = (
            self._guard.refuse_address(peer[0], self.host)
            if family in (AF_INET, AF_INET6)
            else "not an internet address"
        )
        if refusal is not None:
            self._unconnected = (ErrorClass.REFUSED, f"{self.host} has the address {refusal}")
            return NO_SOCKET
        try:
            return socket(family, kind, protocol).detach()
        except OSError as error:  # no descriptors left, no IPv6
            self._unconnected = self._unconnected or (ErrorClass.CONNECT, f"no socket: {error.strerror}")
            return NO_SOCKET

    def _before_request(self, *_: object) -> int:
        """Called by libcurl before it sends the request: also before it sends it again, up to five times,
        where a kept connection ended without an answer."""
        self._asked += 1
        self.lost = self._asked > 1
        if self.lost and (self._ask.once or self._asked > MOST_ASKED):
            self.problem = (ErrorClass.CONNECTION_LOST, "the connection was closed without an answer")
            return ABORT
        return PROCEED

    def _begin(self) -> Head:
        """Look at the head, before the first byte of the body is taken."""
        self.head = head = read_head(self.lines)
        limits, ask = self._limits, self._ask
        if head.size > limits.header_bytes or len(head.headers) > limits.header_count:
            self.problem = (
                ErrorClass.HEADERS_TOO_LARGE,
                f"{head.size} bytes in {len(head.headers)} headers, allowed are {limits.header_bytes} bytes "
                f"in {limits.header_count}",
            )
            return head
        self._left = ask.body_bytes
        status = head.status
        self._redirect = status in REDIRECTS
        if self._redirect:
            self._left = SWALLOWED
            return head
        if 200 <= status < 300 and ask.types and not wanted_type(head.get("content-type"), ask.types):
            kind = (head.get("content-type") or "")[:80]
            self.problem = (ErrorClass.CONTENT_TYPE, f"the content type is {kind!r}")
            return head
        encoding = head.get("content-encoding")
        if encoding is not None:
            try:
                self.inflater = inflater(encoding)
            except BadEncoding as error:
                self.problem = (ErrorClass.BAD_ENCODING, str(error))
                return head
        announced = head.get("content-length") or ""
        if announced.isdigit() and int(announced[:15]) > self._left and not ask.truncate:
            message = f"a body of {announced[:15]} bytes, allowed are {self._left}"
            self.problem = (ErrorClass.BODY_TOO_LARGE, message)
        return head

    def _on_body(self, chunk: bytes) -> int | None:
        """Takes the body as it comes; 0 tells libcurl to stop."""
        if self.head is None:
            self._begin()
            if self.problem is not None:
                return 0
        if self.on_chunk is not None and len(self.chunks) >= HIGH_WATER and not self._resuming:
            self.paused = True  # the same chunk comes again when there is room
            return PAUSE
        self.wire += len(chunk)
        if self.wire > self._left:
            return self._cut(chunk)
        if self.on_chunk is not None:
            self.chunks.append(chunk)
            self.on_chunk()
            return None
        if self.inflater is None:
            self.chunks.append(chunk)
            return None
        return self._inflate(self.inflater, chunk)

    def _cut(self, chunk: bytes) -> int:
        """More than is allowed came: keep what fits, or give up."""
        if self._ask.truncate or self._redirect:
            self.truncated = True
            if self.inflater is None:
                self.chunks.append(chunk[: len(chunk) - (self.wire - self._left)])
            return 0
        self.problem = (ErrorClass.BODY_TOO_LARGE, f"the body is larger than {self._left} bytes")
        return 0

    def _inflate(self, inflater: Inflater, chunk: bytes) -> int | None:
        limit = self._ask.inflated_bytes
        try:
            for piece in inflater.feed(chunk):
                self._inflated += len(piece)
                if self._inflated <= limit:
                    self.chunks.append(piece)
                    continue
                if self._ask.truncate:
                    self.truncated = True
                    self.chunks.append(piece[: len(piece) - (self._inflated - limit)])
                else:
                    self.problem = (
                        ErrorClass.INFLATED_TOO_LARGE,
                        f"the body inflates to more than {limit} bytes",
                    )
                return 0
        except BadEncoding as error:
            self.problem = (ErrorClass.BAD_ENCODING, str(error))
            return 0
        return None
