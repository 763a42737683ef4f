"""What changed between two looks at a page: a pure comparison."""

from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Struct

from fyke.core.outcome import Change, Compare

__all__ = ["ADDED", "MODIFIED", "REMOVED", "UNCHANGED", "Snapshot", "compare", "removed"]

ADDED, REMOVED, MODIFIED, UNCHANGED = "ADDED", "REMOVED", "MODIFIED", "UNCHANGED"


class Snapshot(Struct, frozen=True, gc=False):
    """What a URL held when it was last read for a target."""

    url: str
    domain: str
    target: str
    last_hash: str | None
    last_title: str | None
    last_h1: str | None
    last_data: bytes
    last_crawl_at: int


class Shown(Struct, frozen=True, gc=False):
    """What every row of the diff shows of a page's data."""

    price: Any = None
    availability: Any = None


_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_decode_shown = msgspec.json.Decoder(Shown, float_hook=Decimal).decode  # 11.50 keeps both of its decimals


def _text(value: Any) -> str | None:
    return None if value is None else str(value).replace("\0", "")[:64]  # a NUL no database stores


def compare(before: Snapshot | None, now: Compare) -> Change | None:
    """The row of the diff, or None when there is nothing to say (gone, and never known)."""
    if now.gone:
        return removed(before, now.seq, now.at) if before else None
    current = _decode_shown(now.data)
    if before is None:
        return Change(
            now.seq,
            now.url,
            ADDED,
            now.at,
            price_curr=_text(current.price),
            availability_curr=_text(current.availability),
            title_curr=now.title,
        )
    past = current if before.last_data == now.data else _decode_shown(before.last_data)
    fields = _fields_changed(before, now)
    return Change(
        now.seq,
        now.url,
        MODIFIED if fields else UNCHANGED,
        now.at,
        prev_at=before.last_crawl_at,
        fields_changed=";".join(fields),
        price_prev=_text(past.price),
        price_curr=_text(current.price),
        availability_prev=_text(past.availability),
        availability_curr=_text(current.availability),
        title_prev=before.last_title,
        title_curr=now.title,
    )


def _fields_changed(before: Snapshot, now: Compare) -> list[str]:
    fields = []
    if before.last_title != now.title:
        fields.append("title")
    if before.last_h1 != now.h1:
        fields.append("h1")
    if before.last_data != now.data:
        past, current = _decode(before.last_data), _decode(now.data)
        fields += sorted(k for k in past.keys() | current.keys() if past.get(k) != current.get(k))
    if before.last_hash != now.content_hash:
        fields.append("text")
    return fields


def removed(before: Snapshot, seq: int, at: int) -> Change:
    """The row for a page that is no longer there."""
    past = _decode_shown(before.last_data)
    return Change(
        seq,
        before.url,
        REMOVED,
        at,
        prev_at=before.last_crawl_at,
        price_prev=_text(past.price),
        availability_prev=_text(past.availability),
        title_prev=before.last_title,
    )
