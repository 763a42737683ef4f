"""A response's head: status and headers, read from the lines as they came."""

from msgspec import Struct

__all__ = ["Head", "read_head", "wanted_type"]

EMPTY = (b"\r\n", b"\n")
CACHED_LINES = 4096
CACHED_LENGTH = 100

# Most header lines of a site are the same on every page: Server, Content-Type, Connection.
_lines: dict[bytes, tuple[str, str] | None] = {}


class Head(Struct, frozen=True, gc=False):
    """Status, headers in order with names in lower case, and the bytes that all of it took. `whole` says
    that the empty line came which ends it."""

    status: int
    headers: tuple[tuple[str, str], ...]
    size: int
    whole: bool = True

    def get(self, name: str) -> str | None:
        for key, value in self.headers:
            if key == name:
                return value
        return None


def read_head(lines: list[bytes]) -> Head:
    """The head of the final response among the lines received: interim ones (1xx) come before it,
    trailers after it."""
    size = 0
    start = 0
    for index, line in enumerate(lines):
        size += len(line)
        if line.startswith(b"HTTP/"):
            start = index
    whole = False
    headers: list[tuple[str, str]] = []
    append = headers.append
    for line in lines[start + 1 :]:
        try:
            pair = _lines[line]
        except KeyError:
            pair = _read_line(line)
        if pair is not None:
            append(pair)
        elif line in EMPTY:
            whole = True
    return Head(_status(lines[start]) if lines else 0, tuple(headers), size, whole)


def _status(line: bytes) -> int:
    code = line[9:12] if line.startswith(b"HTTP/1") else line.split(b" ", 2)[1][:3]
    return int(code) if code.isdigit() else 0


def _read_line(line: bytes) -> tuple[str, str] | None:
    name, colon, value = line.partition(b":")
    pair = (name.strip().decode("latin-1").lower(), value.strip().decode("latin-1")) if colon else None
    if len(line) <= CACHED_LENGTH and line[:10].lower() != b"set-cookie":
        if len(_lines) >= CACHED_LINES:
            _lines.clear()
        _lines[line] = pair
    return pair


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
