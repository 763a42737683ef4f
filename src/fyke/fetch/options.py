"""How pages are fetched: limits against hostile servers, and what kinds of answer are wanted."""

from collections.abc import Callable

from msgspec import Struct

__all__ = ["PAGES", "ClientOptions", "FetchOptions", "Limits"]

MIB = 1024 * 1024


class Limits(Struct, frozen=True, kw_only=True):
    """What a server may cost. Times are in seconds and hold for all hops together, but for `connect`
    and `first_byte`, which every hop has of its own. `body_bytes` counts what comes over the wire,
    `inflated_bytes` what becomes of it."""

    header_bytes: int = 64 * 1024
    header_count: int = 200
    body_bytes: int = 10 * MIB
    inflated_bytes: int = 32 * MIB
    redirects: int = 10
    connect: float = 10
    first_byte: float = 30
    total: float = 60


class FetchOptions(Struct, frozen=True, kw_only=True):
    """What one kind of request wants. Limits of 0 are the client's; `patience` is how many times as long
    as others it may take.

    `types` are the content types taken (a type, `text/*`, or a suffix such as `+xml`; none takes all):
    another is refused before its body is loaded. `may_follow` is asked before each redirect, with the
    URL redirected from and the one redirected to; when it says no, the redirect itself is the page.
    `truncate` takes what fits instead of failing on a body that is too large. `once` lets a request be lost
    that gets no answer on a connection kept from before; without it, it is sent again at once."""

    accept: str = "*/*"
    types: tuple[str, ...] = ()
    user_agent: str | None = None
    redirects: int | None = None
    timeout: float = 0
    patience: float = 1
    max_bytes: int = 0
    max_inflated: int = 0
    truncate: bool = False
    once: bool = False
    may_follow: Callable[[str, str], bool] | None = None


class ClientOptions(Struct, frozen=True, kw_only=True):
    """What holds for the client as a whole: connections kept open, the life of a DNS answer in seconds,
    and a file of certificate authorities instead of the system's."""

    connections: int = 512
    dns_ttl: int = 60
    ca_file: str | None = None


PAGES = FetchOptions(
    accept="text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    types=("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml", "+xml"),
)
