"""The product target: what each source says, the more careful sources first."""

from collections.abc import Iterator
from typing import Any, Final

from fyke.core.record import Product
from fyke.extract import jsonld, markup, schema
from fyke.extract.document import Document, text_of
from fyke.extract.things import Fields, Thing

__all__ = ["read_product"]

TRAIL: Final = '[class*="breadcrumb" i], [id*="breadcrumb" i], [aria-label*="breadcrumb" i]'
BETWEEN_CRUMBS: Final = "/>»›→·|• "
MAX_CRUMBS: Final = 20
ALL: Final = frozenset({"price", "currency", "availability", "sku", "brand", "breadcrumbs", "images"})


def read_product(document: Document, h1: str | None) -> Product:
    """The product a page shows. Each field is from the first source that has it, and sources are asked
    until all fields are known; prices that differ are all told in `attrs`."""
    fields: Fields = {}
    attrs: dict[str, Any] = {}
    prices: dict[str, Any] = {}
    for source, said in _sources(document, h1):
        attrs = {**said.pop("attrs", {}), **attrs}
        if "price" in said:
            prices[source] = said["price"]
        fields = {**said, **fields}
        if fields.keys() >= ALL:
            break  # the sources that are left could add nothing
    if len(prices) > 1 and len(set(prices.values())) > 1:
        attrs["prices"] = prices
    if "breadcrumbs" not in fields and (trail := _trail(document)):
        fields["breadcrumbs"] = trail
    if "category" not in fields and "breadcrumbs" in fields:
        fields["category"] = _category(fields["breadcrumbs"], attrs.get("name") or h1)
    return Product(**fields, attrs=attrs)


def _sources(document: Document, h1: str | None) -> Iterator[tuple[str, Fields]]:
    """What the page says of its product, by source. What is not said is not among the fields."""
    if document.json_ld:
        yield "json_ld", _described(jsonld.things(document.json_ld), document, h1)
    things, loose = markup.microdata(document.tree)
    if things:
        yield "microdata", _described(things, document, h1)
    if things := markup.rdfa(document.tree):
        yield "rdfa", _described(things, document, h1)
    if fields := markup.open_graph(document):
        yield "open_graph", fields
    if loose:
        yield "itemprop", _loose(loose, document)


def _described(things: list[Thing], document: Document, h1: str | None) -> Fields:
    """The fields of the product among schema.org things, and of the breadcrumbs beside it."""
    product = schema.choose(things, document.base.url, h1)
    fields: Fields = {}
    if product is not None:
        index = {name: thing for thing in things if isinstance(name := thing.get("@id"), str)}
        fields = schema.read_product(product, document.base, index)
    if trail := schema.breadcrumbs(things):
        fields["breadcrumbs"] = trail
    return fields


def _loose(properties: Thing, document: Document) -> Fields:
    """The fields of properties without an item around them."""
    offer = {key: properties[key] for key in ("price", "priceCurrency", "availability") if key in properties}
    return schema.read_product({**properties, "offers": offer}, document.base, {})


def _trail(document: Document) -> tuple[str, ...]:
    """The breadcrumbs that navigation shows: the texts of its list items, or else of its links."""
    element = document.tree.select_one(TRAIL)
    if element is None:
        return ()
    items = element.find_all("li") or element.find_all("a")
    names = [name.strip(BETWEEN_CRUMBS) for item in items[:MAX_CRUMBS] if (name := text_of(item))]
    return tuple([name for name in names if name])


def _category(trail: tuple[str, ...], name: str | None) -> str | None:
    """The last breadcrumb before the product itself; the first one is the shop's home."""
    steps = trail[1:]
    if steps and name is not None and steps[-1].casefold() == name.casefold():
        steps = steps[:-1]
    return steps[-1] if steps else None
