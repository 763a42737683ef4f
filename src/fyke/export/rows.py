"""From what the store keeps to the columns of an export.

An export is one flat table, the same in every format. Which pages are rows:

- `full`: every page with a status: the last server that was asked for it has answered. A page that failed
  (404, a server's error, a block) has its `final_url`, `http_status` and `fetched_at`, and nothing else: what
  a block page says is not content.
- `seo`: the pages whose content arrived.
- `diff`: every change, as the comparison recorded it.

Batches are worked on column by column: most of the work on a million cells is then done by C loops
(joins, replaces, zips), which is what makes exports fast.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final, NamedTuple

from msgspec import Raw, Struct, json

from fyke.core import clock
from fyke.core.outcome import Change

__all__ = ["COLUMNS", "READ", "Cells", "Column", "Columns", "PageRecord", "Shape", "filled", "texts"]

Cells = list[Any]
Columns = list[Cells]


class PageRecord(NamedTuple):
    """A stored page as the exports take it; a plain tuple of this order will do.

    `data_full` is only needed for `full`, `data_seo` only for `seo`: the others may read them as None. The
    place of the body is only needed for `warc`: for the others the tuple may end before it.
    """

    url: str
    final_url: str | None
    http_status: int | None
    fetched_at: int
    title: str | None
    h1: str | None
    content_hash: str | None
    data_full: bytes | None
    data_seo: bytes | None
    state: str
    body_object: str | None = None
    body_offset: int = 0
    body_length: int = 0


class Shape(Enum):
    """What the cells of a column are; every cell may be None."""

    TEXT = "text"  # str
    INTEGER = "integer"  # int
    NUMBER = "number"  # str that reads as a JSON number, with its decimals as stored
    TIME = "time"  # int, µs since the epoch


class Column(Struct, frozen=True):
    name: str
    shape: Shape = Shape.TEXT


def _columns(text: str) -> tuple[Column, ...]:
    shapes = {
        "http_status": Shape.INTEGER,
        "fetched_at": Shape.TIME,
        "prev_crawl_at": Shape.TIME,
        "curr_crawl_at": Shape.TIME,
        "price": Shape.NUMBER,
        "price_prev": Shape.NUMBER,
        "price_curr": Shape.NUMBER,
    }
    return tuple(Column(name, shapes.get(name, Shape.TEXT)) for name in text.split())


COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "full": _columns(
        "url final_url http_status fetched_at title h1 price currency availability sku brand category"
        " breadcrumbs images attrs_json text_hash"
    ),
    "seo": _columns(
        "url fetched_at title meta_description h1 og_title og_description og_image twitter_title"
        " twitter_description canonical robots hreflang images_alt_joined"
    ),
    "diff": _columns(
        "url prev_crawl_at curr_crawl_at change_type fields_changed price_prev price_curr"
        " availability_prev availability_curr title_prev title_curr"
    ),
}

EMPTY: Final = Raw(b"")


class _Full(Struct, frozen=True, gc=False):
    """core.record.Product with the parts that are only passed on left as JSON: reading them as Decimal
    and dict took more than a third of an export's time."""

    price: Raw = EMPTY
    currency: str | None = None
    availability: str | None = None
    sku: str | None = None
    brand: str | None = None
    category: str | None = None
    breadcrumbs: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    attrs: Raw = EMPTY


class _Seo(Struct, frozen=True, gc=False):
    """core.record.Seo."""

    meta_description: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    twitter_title: str | None = None
    twitter_description: str | None = None
    canonical: str | None = None
    robots: str | None = None
    hreflang: list[tuple[str, str]] = []
    images_alt: tuple[str, ...] = ()


_read_full = json.Decoder(_Full).decode
_read_seo = json.Decoder(_Seo).decode
NOTHING_FULL: Final = _Full()
NOTHING_SEO: Final = _Seo()
PLAIN_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?").fullmatch


def _full(records: Sequence[PageRecord]) -> Columns:
    answered = [record for record in records if record[2] is not None]
    if not answered:
        return [[] for _ in COLUMNS["full"]]
    url, final_url, status, at, title, h1, digest, full, _, state, *_ = map(list, zip(*answered, strict=True))
    if state.count("succeeded") != len(state):
        arrived = [name == "succeeded" for name in state]
        title, h1, digest, full = (_only(cells, arrived) for cells in (title, h1, digest, full))
    data = [_read_full(cell) if cell else NOTHING_FULL for cell in full]
    return [
        url,
        final_url,
        status,
        at,
        title,
        h1,
        _numbers([d.price for d in data]),
        [d.currency for d in data],
        [d.availability for d in data],
        [d.sku for d in data],
        [d.brand for d in data],
        [d.category for d in data],
        _lists([d.breadcrumbs for d in data], " > "),
        _lists([d.images for d in data], "|"),
        [str(d.attrs, "utf-8") if d.attrs else None for d in data],
        digest,
    ]


def _seo(records: Sequence[PageRecord]) -> Columns:
    arrived = [record for record in records if record[9] == "succeeded"]
    if not arrived:
        return [[] for _ in COLUMNS["seo"]]
    url, _, _, at, title, h1, _, _, seo, *_ = map(list, zip(*arrived, strict=True))
    data = [_read_seo(cell) if cell else NOTHING_SEO for cell in seo]
    return [
        url,
        at,
        title,
        [d.meta_description for d in data],
        h1,
        [d.og_title for d in data],
        [d.og_description for d in data],
        [d.og_image for d in data],
        [d.twitter_title for d in data],
        [d.twitter_description for d in data],
        [d.canonical for d in data],
        [d.robots for d in data],
        ["|".join([f"{lang}={href}" for lang, href in d.hreflang]) or None for d in data],
        _lists([d.images_alt for d in data], "|"),
    ]


def _diff(changes: Sequence[Change]) -> Columns:
    return [
        [c.url for c in changes],
        [c.prev_at for c in changes],
        [c.curr_at for c in changes],
        [c.change_type for c in changes],
        [c.fields_changed or None for c in changes],
        [_number(c.price_prev) for c in changes],
        [_number(c.price_curr) for c in changes],
        [c.availability_prev for c in changes],
        [c.availability_curr for c in changes],
        [c.title_prev for c in changes],
        [c.title_curr for c in changes],
    ]


READ: Final[dict[str, Callable[[Sequence[Any]], Columns]]] = {"full": _full, "seo": _seo, "diff": _diff}


def texts(column: Column, cells: Cells) -> list[str]:
    """The cells as text, "" for None; times as RFC 3339 with milliseconds."""
    if column.shape is Shape.INTEGER:
        return ["" if cell is None else str(cell) for cell in cells]
    if column.shape is Shape.TIME:
        return _times(cells)
    return filled(cells)


def filled(cells: Cells) -> list[str]:
    """The texts, "" for None; the same list where there is none."""
    return [cell or "" for cell in cells] if None in cells else cells


MILLISECONDS: Final = tuple(f".{number:03}Z" for number in range(1000))


def _times(cells: Cells) -> list[str]:
    known: dict[int, str] = {}  # pages of one batch came within few seconds
    out = []
    for cell in cells:
        if cell is None:
            out.append("")
            continue
        second, rest = divmod(cell, clock.SECOND)
        text = known.get(second)
        if text is None:
            text = known[second] = clock.iso(second * clock.SECOND)[:-5]
        out.append(text + MILLISECONDS[rest // 1000])
    return out


def _only(cells: Cells, wanted: list[bool]) -> Cells:
    return [cell if keep else None for cell, keep in zip(cells, wanted, strict=True)]


def _number(value: str | None) -> str | None:
    """A price without exponent or quotes; None for what is no finite number."""
    if not value or PLAIN_NUMBER(value):
        return value or None
    try:
        number = Decimal(value.strip('"'))
    except InvalidOperation:
        return None
    return format(number, "f") if number.is_finite() else None


def _numbers(raws: Sequence[Raw]) -> Cells:
    """JSON numbers are mostly plain already, which one look at all of them tells."""
    plain = not b"".join(raws).strip(b"0123456789.-")
    cells = [str(raw, "utf-8") if raw else None for raw in raws]
    return cells if plain else [_number(cell) for cell in cells]


def _lists(lists: Sequence[tuple[str, ...]], separator: str) -> Cells:
    """Each list joined. A pipe within a URL is written as %7C, which means the same, where pipes separate;
    in other text it stays. Whether there is any is counted in all of them at once."""
    cells = list(map(separator.join, lists))
    if separator == "|" and "".join(cells).count("|") > sum(map(len, lists)) - len(lists) + lists.count(()):
        cells = ["|".join([_piped(part) for part in parts]) for parts in lists]
    return [cell or None for cell in cells]


def _piped(part: str) -> str:
    return part.replace("|", "%7C") if "://" in part else part
