"""Do all say the same of the same pages? A peer's rows beside Fyke's exports, column by column."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from msgspec import Struct

__all__ = ["Comparison", "Row", "compare", "fyke_rows", "peer_rows"]

UNCOMPARED = frozenset({"fetched_at"})
"""When a page was fetched differs from run to run; all else is to be equal."""

Row = dict[str, Any]


class Comparison(Struct, frozen=True):
    """How many pages both have, and in how many of them each differing column differs."""

    pages: int
    columns: int
    differing: dict[str, int]
    example: str = ""

    @property
    def verdict(self) -> str:
        if self.pages == 0:
            return "nothing in common"
        if not self.differing:
            return f"all {self.columns} columns equal on {self.pages} pages"
        return "differ: " + ", ".join(f"{name} on {count}" for name, count in sorted(self.differing.items()))


def peer_rows(path: Path) -> dict[str, Row]:
    """A peer's rows by URL."""
    with path.open(encoding="utf-8") as lines:
        return {row["url"]: row for row in map(json.loads, lines)}


def fyke_rows(directory: Path) -> dict[str, Row]:
    """Fyke's full and seo exports in a directory, merged, by URL."""
    rows: dict[str, Row] = {}
    for kind in ("full", "seo"):
        for path in sorted(directory.rglob(f"*{kind}*")):
            for row in _rows(path):
                rows.setdefault(row["url"], {}).update(row)
    return rows


def _rows(path: Path) -> Iterator[Row]:
    """The rows of an export, where it is one of the two formats read here."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            yield from csv.DictReader(lines)
    elif path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def compare(ours: dict[str, Row], rows: dict[str, Row]) -> Comparison:
    """Compare a run's rows with Fyke's, on the pages that both have."""
    common = sorted(ours.keys() & rows.keys())
    differing: Counter[str] = Counter()
    example = ""
    columns: set[str] = set()
    for url in common:
        names = (ours[url].keys() | rows[url].keys()) - UNCOMPARED
        columns |= names
        for name in sorted(names):
            one, other = normal(name, ours[url].get(name)), normal(name, rows[url].get(name))
            if one != other:
                differing[name] += 1
                example = example or f"{url} {name}: Fyke {one!r}, the other {other!r}"
    return Comparison(pages=len(common), columns=len(columns), differing=dict(differing), example=example)


def normal(name: str, value: Any) -> Any:
    """A cell in the form in which equal cells are equal: numbers by value, JSON by content, no empty text."""
    if value is None or value == "":
        return None
    if name == "price":
        return _number(str(value))
    if name == "attrs_json":
        return _plain(json.loads(value, parse_float=Decimal, parse_int=Decimal))
    return str(value)


def _number(text: str) -> str:
    try:
        return str(Decimal(text).normalize())
    except InvalidOperation:
        return text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value.normalize()) if isinstance(value, Decimal) else value
