"""A schema.org Product, whatever syntax it came in, as the fields of our Product.

A thing is a dictionary with "@type" and properties, as JSON-LD has it; microdata and RDFa are brought
into the same form. A field that cannot be read is left out.
"""

from collections.abc import Sequence
from typing import Any, Final

from fyke.extract import money
from fyke.extract.links import Base
from fyke.extract.offers import read_offers
from fyke.extract.things import Fields, Thing, first, listed, text, types

__all__ = ["breadcrumbs", "choose", "read_product"]

PRODUCTS: Final = frozenset(
    {"product", "productgroup", "individualproduct", "productmodel", "someproducts", "vehicle", "car"}
)
GTINS: Final = ("gtin13", "gtin", "gtin14", "gtin12", "gtin8", "isbn")
BESIDE: Final = ("name", "mpn", "model", "color", "size", "material")
MAX_CRUMBS: Final = 50
MAX_IMAGES: Final = 100
MAX_VARIANTS: Final = 200


def choose(things: Sequence[Thing], url: str, h1: str | None) -> Thing | None:
    """The product the page is about: the one at its address or under its heading, else the first that
    has an offer, else the first."""
    products = [thing for thing in things if not PRODUCTS.isdisjoint(types(thing))]
    if not products:
        products = [thing for thing in things if "offers" in thing]
    if len(products) < 2:
        return products[0] if products else None

    def rank(product: Thing) -> int:
        offered = 1 if product.get("offers") or product.get("hasVariant") else 0
        named = 2 if h1 is not None and text(product.get("name")) == h1 else 0
        here = 4 if url in (product.get("url"), product.get("@id")) else 0
        return offered + named + here

    return max(products, key=rank)


def read_product(thing: Thing, base: Base, index: dict[str, Thing]) -> Fields:
    """The fields of a product; `attrs` holds what is beyond Product's own. `index` has the things that
    may be referred to by "@id"."""
    variants = _variants(thing) if "hasVariant" in thing else []
    shown = thing  # the variant a visitor sees first, where the group itself has no offer
    if variants and not thing.get("offers"):
        shown = next((item for item in variants if base.url in _addresses(item)), variants[0])
    fields, attrs = read_offers(shown.get("offers"), index)
    sku = (
        text(thing.get("sku")) or text(shown.get("sku")) or fields.get("sku") or text(thing.get("productID"))
    )
    if sku:
        fields["sku"] = sku
    if brand := text(thing.get("brand")) or text(thing.get("manufacturer")):
        fields["brand"] = brand
    if category := text(thing.get("category")):
        fields["category"] = category
    if images := _images(thing.get("image") or shown.get("image"), base):
        fields["images"] = images
    for key in BESIDE:
        if key in thing and (value := text(thing[key])):
            attrs[key] = value
    if gtin := _gtin(thing) or _gtin(shown):
        attrs["gtin"] = gtin
    if "aggregateRating" in thing and (rating := _rating(first(thing["aggregateRating"]))):
        attrs["rating"] = rating
    if variants:
        attrs["variants"] = [_variant(item, index) for item in variants]
    fields["attrs"] = attrs
    return fields


def _variants(thing: Thing) -> list[Thing]:
    return [item for item in listed(thing["hasVariant"])[:MAX_VARIANTS] if isinstance(item, dict)]


def _addresses(thing: Thing) -> list[Any]:
    offers = [offer.get("url") for offer in listed(thing.get("offers")) if isinstance(offer, dict)]
    return [thing.get("url"), thing.get("@id"), *offers]


def _gtin(thing: Thing) -> str | None:
    for key in GTINS:
        if key in thing and (value := text(thing[key])):
            return value
    return None


def _images(value: Any, base: Base) -> tuple[str, ...]:
    urls: dict[str, None] = {}
    for item in listed(value)[:MAX_IMAGES]:
        if isinstance(item, dict):
            item = first(item.get("url") or item.get("contentUrl") or item.get("@id"))
        if url := base.absolute(item):
            urls[url] = None
    return tuple(urls)


def _rating(thing: Any) -> Fields | None:
    if not isinstance(thing, dict):
        return None
    rating: Fields = {}
    value = money.number(first(thing.get("ratingValue")))
    count = money.number(first(thing.get("reviewCount") or thing.get("ratingCount")))
    if value is not None:
        rating["value"] = value
    if count is not None:
        rating["count"] = int(count)
    return rating


def _variant(thing: Thing, index: dict[str, Thing]) -> Fields:
    fields, _ = read_offers(thing.get("offers"), index)
    for key in ("name", "sku", "color", "size"):
        if value := text(thing.get(key)):
            fields[key] = value
    return fields


def breadcrumbs(things: Sequence[Thing]) -> tuple[str, ...]:
    """The names of the first breadcrumb list that has any, in the order of their positions."""
    for thing in things:
        crumbs = thing if "breadcrumblist" in types(thing) else thing.get("breadcrumb")
        if not isinstance(crumbs, dict):
            continue
        items = [
            item for item in listed(crumbs.get("itemListElement"))[:MAX_CRUMBS] if isinstance(item, dict)
        ]
        items.sort(key=_position)
        names = [text(item.get("name")) or text(item.get("item")) for item in items]
        if trail := tuple([name for name in names if name]):
            return trail
    return ()


def _position(item: Thing) -> float:
    position = first(item.get("position"))
    if isinstance(position, int):
        return position
    try:
        return float(position)
    except (TypeError, ValueError, OverflowError):
        return 0
