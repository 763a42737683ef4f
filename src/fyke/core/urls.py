"""URLs as a browser reads them: parsed by the WHATWG rules, compared in canonical form."""

import re
import string

import can_ada

from fyke.core.errors import InvalidUrl

__all__ = ["NOT_UTF8", "canonical", "host_of", "is_utf8", "join", "origin_of", "why_unreadable", "with_bytes"]

MAX_LENGTH = 8192
ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
BYTES = re.compile("[\ud800-\udfff]")  # halves of characters; `surrogateescape` keeps bytes as such
NOT_UTF8 = "not UTF-8"
ZONE = re.compile(r"[^?#]*?//[^/?#]*\[[0-9A-Fa-f:.]+%")


def _parse(url: str, base: str | None = None) -> can_ada.URL:
    if len(url) > MAX_LENGTH:
        raise InvalidUrl(f"longer than {MAX_LENGTH} characters")
    try:
        parsed = can_ada.parse(base) + url.strip() if base else can_ada.parse(url.strip())
    except (ValueError, TypeError):  # what it cannot parse, and what is no text
        raise InvalidUrl(why_unreadable(url)) from None
    if parsed.protocol not in ("http:", "https:"):
        raise InvalidUrl(f"scheme {parsed.protocol[:-1]!r} is not http or https")
    if not parsed.hostname:
        raise InvalidUrl("has no host")
    return parsed


def why_unreadable(url: str) -> str:
    """What is wrong with a text that could not be parsed."""
    if not is_utf8(url):
        return NOT_UTF8
    if ZONE.match(url):
        return "a zone id names an interface of one machine, and has no place in a URL"
    return "not a URL"


def is_utf8(text: str) -> bool:
    """Whether a text is whole, and all bytes of one that was read with `surrogateescape` were UTF-8."""
    return not BYTES.search(text)


def with_bytes(text: str) -> str:
    """A text with the bytes that were not UTF-8 spelled out: `caf\\xe9`."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # from JSON, which can spell half a character
        return text.encode("utf-8", "backslashreplace").decode()


def canonical(url: str) -> str:
    """The form in which two spellings of one address are equal: lower-case host, no default port,
    no fragment, dots resolved, nothing escaped that need not be, no empty query. Query order is kept: it
    can matter. Raises InvalidUrl."""
    parsed = _parse(url)
    parsed.hash = ""
    href = str(parsed.href)
    if href.endswith("?"):
        href = href[:-1]
    return ESCAPE.sub(_escape, href) if "%" in href else href


def join(base: str, url: str) -> str:
    """`url` as seen on the page `base`, without its fragment, escaped as it was."""
    parsed = _parse(url, base)
    parsed.hash = ""
    return str(parsed.href)


def host_of(url: str) -> str:
    """The host name or address of a canonical URL, without its port."""
    return str(_parse(url).hostname)


def origin_of(url: str) -> str:
    """Scheme, host and port of a canonical URL."""
    return str(_parse(url).origin)


def _escape(match: re.Match[str]) -> str:
    """Letters, digits and `-._~` stand for themselves; of the others, hex digits are in capitals."""
    character = chr(int(match[1], 16))
    return character if character in UNRESERVED else match[0].upper()
