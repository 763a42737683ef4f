"""JSON-LD as it is found in the wild: read strictly first, then mended where that is safe."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any, Final

import msgspec

from fyke.extract.things import Thing

__all__ = ["load", "things"]

decode = msgspec.json.Decoder().decode
CONTROL = dict.fromkeys((*range(32), 0x7F, 0xFEFF), " ")
OPENING = re.compile(r"(?:\s|/\*|\*/|//|<!--|<!\[CDATA\[)++")
CLOSING: Final = ("-->", "]]>", "*/", "//")
# A string is kept as it is; a comma before a closing bracket, and a comment, are dropped. All of it is
# possessive, and what is never closed lasts to the end: no text takes more than one pass.
STRING_OR_FLAW = re.compile(
    r'"(?:[^"\\]|\\.)*+"?|,(?=\s*+[}\]])|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?|//[^\n]*+', re.DOTALL
)
# An escape that JSON has is kept; half of a surrogate pair becomes the sign for what cannot be shown, and
# a backslash before anything else is dropped.
ESCAPE_OR_FLAW = re.compile(
    r'(\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\"
)
OPENED: Final = ("@graph", "mainEntity", "mainEntityOfPage", "about", "itemOffered")
MAX_DEPTH: Final = 8


def load(text: str) -> Any:
    """The value a JSON-LD script holds, or None when it cannot be read safely."""
    try:
        return decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return decode(_mended(text))
    except (msgspec.DecodeError, RecursionError):
        return None


def _mended(text: str) -> str:
    """`text` without what people and templates put into JSON by mistake."""
    text = _unwrapped(text)
    if '"' not in text and "&quot;" in text:
        text = unescape(text)
    text = STRING_OR_FLAW.sub(_keep_string, text)
    return text.translate(CONTROL)


def _unwrapped(text: str) -> str:
    """`text` without the comment and CDATA marks around it, which hid it from browsers of old."""
    text = text.lstrip("\ufeff")
    if opening := OPENING.match(text):
        text = text[opening.end() :]
    text = text.rstrip("; \t\r\n")
    for _ in range(len(CLOSING)):
        for mark in CLOSING:
            text = text.removesuffix(mark).rstrip("; \t\r\n")
    return text


def _keep_string(match: re.Match[str]) -> str:
    found = match[0]
    if not found.startswith('"'):
        return ""
    return ESCAPE_OR_FLAW.sub(_mend_escape, found) if "\\" in found else found


def _mend_escape(match: re.Match[str]) -> str:
    escape, half = match.groups()
    return escape or (r"\ufffd" if half else "")


def things(texts: Sequence[str]) -> list[Thing]:
    """Every thing the scripts describe, graphs and lists opened, in the order of the page."""
    found: list[Thing] = []
    for text in texts:
        _open(load(text), found, 0)
    return found


def _open(value: Any, found: list[Thing], depth: int) -> None:
    if isinstance(value, dict):
        if "@type" in value:
            found.append(value)
        if depth < MAX_DEPTH:
            for key in OPENED:
                if key in value:
                    _open(value[key], found, depth + 1)
    elif isinstance(value, list) and depth < MAX_DEPTH:
        for item in value:
            _open(item, found, depth + 1)
