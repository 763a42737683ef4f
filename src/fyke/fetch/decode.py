"""Bytes to text, as a browser does it: byte order mark, charset of the Content-Type, what the page says
of itself in its first 1024 bytes or later in its head, and windows-1252 where nothing is said. What
cannot be read becomes U+FFFD; decoding never fails."""

import codecs
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import webencodings  # type: ignore[import-untyped]  # ships no types

__all__ = ["charset", "decode"]

PRESCAN: Final = 1024
LONG_HEAD: Final = 256 * 1024  # how far a head is read that says nothing in its beginning
MOST_TAGS: Final = 500
LONGEST_TAG: Final = 1024
DEFAULT: Final = "windows-1252"

# One pass over comments and tags: a meta inside a comment or an attribute's value does not count.
TAG: Final = re.compile(
    rb"""<!--.*?-->|<meta[\s/]((?:[^>"']|"[^"]*"|'[^']*')*)>|<[a-z/!?](?:[^>"']|"[^"]*"|'[^']*')*>""",
    re.IGNORECASE | re.DOTALL,
)
HEAD_ENDS: Final = (b"</head", b"<body")
NOT_MARKUP: Final = tuple(
    (b"<" + name, b"</" + name) for name in (b"script", b"style", b"title", b"noscript", b"template")
)
ATTRIBUTE: Final = re.compile(rb"""([^\s=/>"']+)\s*(?:=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?""")
CONTENT_CHARSET: Final = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""", re.IGNORECASE)
XML_ENCODING: Final = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._:\-]+)["']""")


def decode(body: bytes, headers: Iterable[tuple[str, str]]) -> str:
    """The text of a body that came with these headers (names in lower case)."""
    if body.startswith(codecs.BOM_UTF8):
        return body[3:].decode("utf-8", "replace")
    if body.startswith(codecs.BOM_UTF16_LE):
        return body[2:].decode("utf-16-le", "replace")
    if body.startswith(codecs.BOM_UTF16_BE):
        return body[2:].decode("utf-16-be", "replace")
    name = charset(headers) or _declared(body[:PRESCAN]) or _declared_late(body) or DEFAULT
    if name == "utf-8":
        return body.decode("utf-8", "replace")
    table = _table(name)
    if table is not None:
        if body.isascii():
            return body.decode("ascii")
        return codecs.charmap_decode(body, "replace", table)[0]
    encoding = webencodings.lookup(name)
    if encoding is None:  # not one of the names that `_canonical` gives
        return body.decode("utf-8", "replace")
    return str(encoding.codec_info.decode(body, "replace")[0])


def charset(headers: Iterable[tuple[str, str]]) -> str | None:
    """The encoding that the Content-Type names, by its WHATWG name."""
    for name, value in headers:
        if name == "content-type":
            return _of_content_type(value)
    return None


@lru_cache(maxsize=512)
def _of_content_type(value: str) -> str | None:
    match = CONTENT_CHARSET.search(value)
    return _canonical(match[1] or match[2] or match[3] or "") if match else None


def _canonical(label: str) -> str | None:
    encoding = webencodings.lookup(label)
    return str(encoding.name) if encoding is not None else None


def _declared(start: bytes) -> str | None:
    """The encoding that a page names within its first bytes."""
    if start.startswith(b"<?xml"):
        match = XML_ENCODING.match(start)
        if match is not None:
            return _in_ascii(match[1])
    for tag in TAG.finditer(start):
        if tag[1] is not None:
            name = _of_meta(tag[1])
            if name is not None:
                return name
    return None


def _declared_late(body: bytes) -> str | None:
    """The encoding that a page names further down in its head. Only asked where it matters, which is rare:
    the bytes mean something else in other encodings. Tags are taken one by one, each within bounds, since
    an expression over all of them could be made slow."""
    if len(body) <= PRESCAN or (body.isascii() and b"\x1b" not in body):
        return None
    start = body[:LONG_HEAD].lower()
    at = -1
    for _ in range(MOST_TAGS):
        at = start.find(b"<", at + 1)
        if at < 0 or start.startswith(HEAD_ENDS, at):
            return None
        if start.startswith(b"<!--", at):
            at = start.find(b"-->", at + 4)
        else:
            for opened, closed in NOT_MARKUP:
                if start.startswith(opened, at):
                    at = start.find(closed, at)
                    break
        if at < 0:
            return None
        tag = TAG.match(start, at, at + LONGEST_TAG)
        if tag is not None:
            at = tag.end() - 1
            name = _of_meta(tag[1]) if tag[1] is not None else None
            if name is not None:
                return name
    return None


def _of_meta(attributes: bytes) -> str | None:
    values: dict[str, str] = {}
    for match in ATTRIBUTE.finditer(attributes):
        key = match[1].decode("latin-1").lower()
        values.setdefault(key, (match[2] or match[3] or match[4] or b"").decode("latin-1"))
    if "charset" in values:
        return _in_ascii(values["charset"].encode("latin-1"))
    if values.get("http-equiv", "").strip().lower() == "content-type":
        match_content = CONTENT_CHARSET.search(values.get("content", ""))
        if match_content is not None:
            label = match_content[1] or match_content[2] or match_content[3] or ""
            return _in_ascii(label.encode("latin-1"))
    return None


def _in_ascii(label: bytes) -> str | None:
    """A label that could be read as ASCII cannot mean UTF-16: browsers take it for UTF-8."""
    name = _canonical(label.decode("latin-1"))
    if name in ("utf-16le", "utf-16be"):
        return "utf-8"
    return DEFAULT if name == "x-user-defined" else name


@lru_cache(maxsize=64)
def _table(name: str) -> str | None:
    """The 256 characters of a single-byte Windows encoding; None for the others. Python leaves holes
    below 0xA0 where browsers put the control characters."""
    encoding = webencodings.lookup(name)
    if encoding is None or not name.startswith(("windows-125", "windows-874")):
        return None
    characters = []
    for code in range(256):
        text = encoding.codec_info.decode(bytes((code,)), "replace")[0]
        characters.append(chr(code) if text == "\ufffd" and code < 0xA0 else text)
    return "".join(characters)
