"""Text as records hold it: entities resolved, tags gone, white space folded, of bounded length."""

import re
from html import unescape
from typing import Final

__all__ = ["LONGEST", "fold", "plain", "well_formed"]

LONGEST: Final = 5000
"""Characters that a text of a record has at most: an <h1> left open would otherwise take the page in."""

TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def fold(text: str | None) -> str | None:
    """`text` with runs of white space as one space; None when nothing is left."""
    if text is None:
        return None
    folded = " ".join(text.split())
    return (folded if len(folded) <= LONGEST else folded[:LONGEST].rstrip()) or None


def plain(value: object) -> str | None:
    """A value of structured data as text: numbers written out, markup and double escaping removed."""
    if isinstance(value, str):
        if "&" in value:
            value = unescape(value)
        if "<" in value:
            value = TAG.sub(" ", value)
        if "\0" in value:  # no database stores it
            value = value.replace("\0", "")
        return fold(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


def well_formed(text: str) -> str:
    """`text` without lone surrogates, which no encoding could store.

    UTF-16 is the encoding that CPython checks fastest for text beyond Latin-1."""
    if text.isascii():
        return text
    try:
        text.encode("utf-16-le")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
