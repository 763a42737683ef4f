"""Structured data written into the tags: microdata, RDFa and Open Graph, as things and fields."""

from typing import Any, Final

from turbohtml import Document as Tree
from turbohtml import Element
from turbohtml.extract import RdfaItem

from fyke.extract import money
from fyke.extract.document import Document, text_of
from fyke.extract.stock import availability
from fyke.extract.things import Fields, Thing

__all__ = ["microdata", "open_graph", "rdfa"]

# What an element says, besides its text and `content`, is in the attribute HTML names for it.
VALUE_IN: Final = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("img", "source", "video", "audio", "embed", "iframe"), "src"),
    **dict.fromkeys(("data", "meter"), "value"),
    "object": "data",
    "time": "datetime",
}
MAX_DEPTH: Final = 20
PRICED: Final = ("product:price:amount", "og:price:amount", "product:sale_price:amount")


def microdata(tree: Tree) -> tuple[list[Thing], Thing]:
    """The top things of the page's microdata, and the properties that belong to none."""
    loose: Thing = {}
    said = tree.find_all(attrs={"itemprop": True})
    if not said:
        return [], loose
    scopes = {element: _item(element) for element in tree.find_all(attrs={"itemscope": True})}
    owned = set()
    for element in said:
        parent = element.parent
        scope = parent.closest("[itemscope]") if isinstance(parent, Element) else None
        value: Any = scopes.get(element)
        if value is None:
            value = _value(element)
        elif scope is not None:
            owned.add(element)
        for name in (element.attr("itemprop") or "").split():
            _add(loose if scope is None else scopes[scope], name, value)
    return [item for element, item in scopes.items() if element not in owned], loose


def _item(element: Element) -> Thing:
    return {"@type": (element.attr("itemtype") or "").split(), "@id": element.attr("itemid")}


def _value(element: Element) -> str | None:
    """What a property says: `content` first, as search engines read it."""
    if content := element.attr("content"):
        return content
    attribute = VALUE_IN.get(element.tag)
    if attribute is not None and (value := element.attr(attribute)):
        return value
    return text_of(element)


def _add(thing: Thing, name: str, value: Any) -> None:
    """A property said twice is a list."""
    name = name[name.rfind("/") + 1 :]
    if name not in thing:
        thing[name] = value
    elif isinstance(thing[name], list):
        thing[name].append(value)
    else:
        thing[name] = [thing[name], value]


def rdfa(tree: Tree) -> list[Thing]:
    """The top things of the page's RDFa; none where they are nested deeper than the parser follows."""
    try:
        return [_resource(item, 0) for item in tree.rdfa()]
    except RecursionError:
        return []


def _resource(item: RdfaItem, depth: int) -> Thing:
    thing: Thing = {"@type": list(item.type), "@id": item.resource}
    for name, values in item.properties.items():
        for value in values:
            if isinstance(value, str):
                _add(thing, name, value)
            elif depth < MAX_DEPTH:
                _add(thing, name, _resource(value, depth + 1))
    return thing


def open_graph(document: Document) -> Fields:
    """The fields that Open Graph's product tags give."""
    meta = document.meta
    if not any(key in document.metas for key in PRICED) and not (meta("og:type") or "").endswith("product"):
        return {}
    written = meta("product:price:amount", "og:price:amount")
    code = money.currency(meta("product:price:currency", "og:price:currency"), written)
    price = money.amount(written, code)
    sale = money.amount(meta("product:sale_price:amount"), code)
    usual = money.amount(meta("product:original_price:amount"), code)
    if sale is not None:
        price, usual = sale, usual or price
    attrs: Fields = {
        "list_price": usual if usual != price else None,
        "gtin": meta("product:gtin", "product:ean", "product:upc", "product:isbn"),
        "condition": meta("product:condition"),
    }
    fields: Fields = {
        "price": price,
        "currency": code,
        "availability": availability(meta("product:availability", "og:availability")),
        "sku": meta("product:retailer_item_id", "product:sku"),
        "brand": meta("product:brand", "og:brand"),
        "category": meta("product:category"),
        "images": _images(document),
        "attrs": {key: value for key, value in attrs.items() if value is not None},
    }
    return {key: value for key, value in fields.items() if value is not None}


def _images(document: Document) -> tuple[str, ...] | None:
    found = [document.base.absolute(url) for url in document.all_metas("og:image")]
    return tuple(dict.fromkeys(url for url in found if url)) or None
