"""Cursors: the key of the last thing shown, in a form that nobody is tempted to count with."""

from collections.abc import Sequence
from typing import Final, TypeVar

from fyke.api.envelope import Paging

__all__ = ["CURSOR", "paging", "place_of"]

T = TypeVar("T")
CURSOR: Final = r"^[0-9a-f]{16}$"


def _cursor(place: int) -> str:
    return place.to_bytes(8, "big", signed=True).hex()


def place_of(cursor: str | None) -> int | None:
    """The key that a cursor stands for."""
    return None if cursor is None else int.from_bytes(bytes.fromhex(cursor), "big", signed=True)


def paging(found: Sequence[T], places: Sequence[int], limit: int) -> tuple[Sequence[T], Paging]:
    """The things to show of those found, of which one more than `limit` was asked for, and where to go
    on."""
    following = _cursor(places[limit - 1]) if len(found) > limit else None
    return found[:limit], Paging(limit, following)
