"""Things of structured data and their properties, which may be said once, many times, or as a thing."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fyke.extract.text import plain

__all__ = ["Fields", "Thing", "first", "listed", "name_of", "text", "types"]

Thing = dict[str, Any]
Fields = dict[str, Any]


@lru_cache(1024)
def name_of(iri: str) -> str:
    """The last part of an IRI, in lower case: "https://schema.org/InStock" is "instock"."""
    return iri[max(iri.rfind("/"), iri.rfind("#"), iri.rfind(":")) + 1 :].strip().lower()


def types(thing: Thing) -> Sequence[str]:
    """The names of a thing's types, without their vocabulary."""
    kind = thing.get("@type")
    if isinstance(kind, str):
        return (name_of(kind),)
    if isinstance(kind, list):
        return [name_of(item) for item in kind if isinstance(item, str)]
    return ()


def first(value: Any) -> Any:
    """A property's first value."""
    if isinstance(value, list):
        return value[0] if value else None
    return value


def listed(value: Any) -> list[Any]:
    """A property's values."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def text(value: Any) -> str | None:
    """The text of a property; of a thing, its name."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        value = first(value.get("name")) or first(value.get("@value"))
    return None if value is None else plain(value)
