"""What a page task carries besides its URL; most carry nothing."""

from typing import Final

import msgspec
from msgspec import Struct

from fyke.core.page import Cookies

__all__ = ["Hop", "PagePayload", "payload_of"]


class Hop(Struct, frozen=True, omit_defaults=True):
    """Where a page's redirects have led so far: the URL that is to be asked next, those behind it, what
    they set, and how many bytes they took."""

    url: str
    history: tuple[str, ...]
    cookies: Cookies | None = None
    bytes_in: int = 0


class PagePayload(Struct, frozen=True, omit_defaults=True):
    """`follow`: the page's links are to be followed, and so many lead to it from the start. `hop`: it has
    been redirected, and the next request waits for its turn in another lane, or again in its own."""

    follow: int | None = None
    hop: Hop | None = None

    def encode(self) -> bytes:
        return _encode(self)

    def from_start(self) -> bytes | None:
        """What a page carries that is asked for anew, by its own URL."""
        return None if self.follow is None else PagePayload(self.follow).encode()


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PagePayload).decode
NOTHING: Final = PagePayload()


def payload_of(raw: bytes) -> PagePayload:
    return _decode(raw) if raw else NOTHING
