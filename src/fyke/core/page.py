"""What is asked of a site and what came back: Request -> Page | Blocked | Failed."""

from msgspec import Struct

__all__ = ["Blocked", "Cookies", "ErrorClass", "Failed", "Fetched", "Page", "Request"]


class ErrorClass:
    """Why a page failed. Stored, counted and shown under these names."""

    REFUSED = "refused"  # the egress guard
    ROBOTS = "robots"  # robots.txt disallows it
    INVALID_URL = "invalid_url"
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    CONNECTION_LOST = "connection_lost"
    PROTOCOL = "protocol"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    HEADERS_TOO_LARGE = "headers_too_large"
    BODY_TOO_LARGE = "body_too_large"
    INFLATED_TOO_LARGE = "inflated_too_large"
    BAD_ENCODING = "bad_encoding"
    CONTENT_TYPE = "content_type"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    BLOCKED = "blocked"
    WORKER_KILLED = "worker_killed"
    INTERNAL = "internal"


Cookies = dict[str, dict[str, str]]
"""By host, what it has set: the value by its name."""


class Request(Struct, frozen=True, gc=False):
    """One page to fetch. Limits of 0 mean the fetcher's own. `history` and `cookies` are of the redirects
    that have led to it."""

    url: str
    etag: str | None = None
    last_modified: str | None = None
    timeout: float = 0
    max_bytes: int = 0
    history: tuple[str, ...] = ()
    cookies: Cookies | None = None


class Page(Struct, frozen=True):
    """A page that came: any final status that is neither a block nor a failure of the transfer.

    `body` is inflated; `headers` are in order, names in lower case; `bytes_in` counts what came over
    the wire for all hops; `history` lists the URLs redirected from, `cookies` what they set on the way.
    """

    url: str
    final_url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    bytes_in: int
    fetched_at: int
    elapsed: float
    strategy: str = "http"
    proxy: str | None = None
    address: str | None = None
    history: tuple[str, ...] = ()
    cookies: Cookies | None = None

    def header(self, name: str) -> str | None:
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Blocked(Struct, frozen=True):
    """The site answered, but not with the page: a challenge, a captcha, a rate limit."""

    reason: str
    page: Page
    retry_after: float | None = None


class Failed(Struct, frozen=True, gc=False):
    """Nothing usable came. `error_class` is one of ErrorClass; `message` is for people."""

    url: str
    error_class: str
    message: str
    fetched_at: int
    final_url: str | None = None
    status: int | None = None
    bytes_in: int = 0
    retry_after: float | None = None
    elapsed: float = 0
    strategy: str = "http"


Fetched = Page | Blocked | Failed
