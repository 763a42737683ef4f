"""A response's head: status and headers, read from the lines as they came."""

from functools import lru_cache
from typing import Final

from msgspec import Struct

__all__ = ["REDIRECTS", "Head", "read_head", "wanted_type"]

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
CACHED_LINES: Final = 4096
CACHED_LENGTH: Final = 100
CRLF, LF = b"\r\n", b"\n"


class Lines(dict[bytes, tuple[str, str] | None]):
    """Header lines and what they say: most lines of a site are the same on every page. None is what is
    no header: a status line, the empty line."""

    def __missing__(self, line: bytes) -> tuple[str, str] | None:
        name, colon, value = line.partition(b":")
        pair = None
        if colon and not line.startswith(b"HTTP/"):
            pair = (name.strip().decode("latin-1").lower(), value.strip().decode("latin-1"))
        if len(line) <= CACHED_LENGTH and (pair is None or pair[0] != "set-cookie"):
            if len(self) >= CACHED_LINES:
                self.clear()
            self[line] = pair
        return pair


_lines: Final = Lines()


class Head(Struct, frozen=True, gc=False):
    """Status, headers in order with names in lower case, and the bytes that all of it took. `whole` says
    that the empty line came which ends it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    size: int
    fields: dict[str, str]
    whole: bool = True

    def get(self, name: str) -> str | None:
        """The first header of that name."""
        return self.fields.get(name)


def read_head(lines: list[bytes]) -> Head:
    """The head of the final response among the lines received: interim ones (1xx) come before it,
    trailers after it."""
    size = sum(map(len, lines))
    status = _status(lines[0])
    if 100 <= status < 200:
        last = max(index for index, line in enumerate(lines) if line.startswith(b"HTTP/"))
        lines = lines[last:]
        status = _status(lines[0])
    headers = tuple(filter(None, map(_lines.__getitem__, lines)))
    return Head(status, headers, size, dict(headers[::-1]), CRLF in lines or LF in lines)


def _status(line: bytes) -> int:
    code = line[9:12] if line.startswith(b"HTTP/1") else line.partition(b" ")[2][:3]
    return int(code) if code.isdigit() else 0


@lru_cache(maxsize=1024)
def wanted_type(content_type: str | None, wanted: tuple[str, ...]) -> bool:
    """Whether a Content-Type is among those wanted. One that is missing or nonsense passes: a browser
    would look at the body."""
    if not wanted or content_type is None:
        return True
    kind = content_type.partition(";")[0].strip().lower()
    if "/" not in kind or kind in wanted:
        return True
    for pattern in wanted:
        if pattern.startswith("+") and kind.endswith(pattern):
            return True
        if pattern.endswith("/*") and kind.startswith(pattern[:-1]):
            return True
    return False
