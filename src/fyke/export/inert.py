"""Text that a spreadsheet would run as a formula is made inert in CSV; everything else is left as it is.

A CSV cell has no type: a spreadsheet that opens the file decides by a cell's first character whether
to calculate it, quoted or not. A leading apostrophe stops that, but it is a change to the value, so it
is only made where a spreadsheet would really calculate:

- text that starts with `=`, always;
- text that starts with `+`, `-` or `@` if what follows calls a function (`-SUM(A1)`), refers to another
  sheet, file or program (`+cmd|'/c calc'!A0`), or calculates with constants and cells alone (`-1+1`,
  `+A1`).

So these stay byte for byte: `-5.00`, `+5 %`, `+49 30 1234-567`, `@handle`, `- list item (new)`, `--`.
What is left that a spreadsheet might look up is a bare word, a name that the file cannot define.

White space and full-width forms are seen through. A reader that separates by semicolon or tab, as Excel
does in half of Europe, honours no quote within its own fields; so what follows a `;`, a tab or a line
break within the text is judged as if it started a cell. Such text has to be quoted: the closing quote is
what ends a formula there, unless it is in the middle of something.

`restore` undoes exactly what `inert` did: a text that already starts with apostrophes before such a
formula gets one more, so that one can always be taken away.
"""

import re
from typing import Final
from unicodedata import normalize

__all__ = ["STARTS", "inert", "restore"]

SIGNS: Final = "=+@＝＋－＠-"
# What a spreadsheet skips before a formula; the characters that end a cell are not among it.
SKIPPED: Final = (
    "".join(map(chr, range(0x09)))
    + "\x0b\x0c"
    + "".join(map(chr, range(0x0E, 0x21)))
    + "\x7f\x85\u00a0\u1680\u180e"
    + "".join(map(chr, range(0x2000, 0x200E)))
    + "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)
STARTS: Final = frozenset(SIGNS + SKIPPED + "'")
BREAKS: Final = ";\t\r\n"

# Where a formula may start: after white space at the start of the cell, or after a break; and the
# apostrophes that stand there already. Only after a break may quotes come before the formula: at the
# start of a cell they are text to every reader.
START: Final = re.compile(
    rf"(?:^[{SKIPPED}\t\r\n]*+|(?P<break>[{BREAKS}]))(?P<marks>'*+)"
    rf"(?=(?(break)[{SKIPPED}\"]*+)(?P<formula>[{SIGNS}]))"
)
ENDS: Final = {";": re.compile("[;\r\n]"), "\t": re.compile("[\t\r\n]")}
LINE_END: Final = re.compile("[\r\n]")
MARKED: Final = re.compile(rf"(?<=[{BREAKS}])'++")

NUMBER: Final = re.compile(
    r"[+-]\s?[^\w\s(]?\s?\d[\d.,'\s]*+(?:[eE][+-]?\d{1,3})?(?:%|[^\w\s(]|[A-Za-z]{1,3}\b)?\s?"
).fullmatch
PHONE: Final = re.compile(r"\+(?=(?:\D*+\d){6})(?!(?:\D*+\d){16})[\d\s().\-/\u2010-\u2015]++").fullmatch

# A function's name directly before its parenthesis; or apart from it, unless only words stand within.
WORDS: Final = r"""(?:(?![A-Za-z]{1,3}\d)[^()"'&:!|$\[\]{}])++\)"""
CALLS: Final = re.compile(rf"[^\W\d][\d.]*+(?:\(|\s++\((?!{WORDS}))").search
REFERS: Final = re.compile(r"[\w'\])}]!['\w$#\[(]").search
CALCULATES: Final = re.compile(
    r"""(?=\D*+\d)(?:[\d\s.,:%+\-*/^&=<>()@]|\$?[A-Za-z]{1,3}\$?\d|"[^"]*+")++"""
).fullmatch
# What a formula may end with when more is to come: `"` and the rest of the line, in a CSV cell that a
# reader of another separator does not see the end of.
OPEN: Final = frozenset("'{[|")
OPERAND_END: Final = re.compile(r"[\w.?!%)\]}]").match
NEVER: Final = re.compile(r"[\s=+@-]*[^\w\s=+@\"'(\[{$#.\\-]").match


def _runs(text: str) -> bool:
    """Whether a spreadsheet calculates a text that starts with one of the signs."""
    text = normalize("NFKC", text)
    if text[0] == "=":
        return True
    if NUMBER(text) or PHONE(text):
        return False
    program = 0 <= text.find("|") < text.rfind("!")
    return program or bool(CALLS(text) or REFERS(text) or CALCULATES(text))


def _formula(match: re.Match[str]) -> bool:
    """Whether what follows the match is a formula, up to where its reader would end the cell. Marks
    within it do not count, so that marking changes no decision."""
    start = match.start("formula")
    if not match["break"]:
        return _runs(MARKED.sub("", match.string[start:]))
    end = ENDS.get(match["break"], LINE_END).search(match.string, start)
    text = MARKED.sub("", match.string[start : end.start() if end else None])
    return _runs(text) or (end is None and _continues(text))


def _continues(text: str) -> bool:
    """Whether a formula could begin with the text and go on in the next cell."""
    text = normalize("NFKC", text).rstrip(SKIPPED + '"')
    return not NEVER(text) and not (OPERAND_END(text[-1:]) and OPEN.isdisjoint(text))


def _mark(match: re.Match[str]) -> str:
    return match[0] + "'" if _formula(match) else match[0]


def _unmark(match: re.Match[str]) -> str:
    return match[0][:-1] if match["marks"] and _formula(match) else match[0]


def inert(text: str) -> str:
    """The text as CSV may carry it."""
    return START.sub(_mark, text)


def restore(text: str) -> str:
    """The text that `inert` was given."""
    return START.sub(_unmark, text)
