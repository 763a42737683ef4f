"""What a product costs and whether it can be had, from its offers."""

from decimal import Decimal
from typing import Any, Final

from fyke.extract import money
from fyke.extract.stock import availability
from fyke.extract.things import Fields, Thing, first, listed, name_of, text

__all__ = ["read_offers"]

STRUCK: Final = frozenset({"listprice", "strikethroughprice", "srp", "msrp", "regularprice"})
MAX_OFFERS: Final = 500


def read_offers(value: Any, index: dict[str, Thing]) -> tuple[Fields, Fields]:
    """Fields and attrs: price, currency and availability of the first offer that has a price, and what
    the others say besides."""
    fields: Fields = {}
    attrs: Fields = {}
    offers = _flat(value, index)
    for offer in offers:
        price, code, struck = _price(offer)
        if price is not None and "price" not in fields:
            fields["price"] = price
            _keep(fields, "currency", code)
            _keep(fields, "availability", availability(first(offer.get("availability"))))
            _keep(fields, "sku", text(offer.get("sku")))
            _keep(attrs, "list_price", struck)
            _keep(attrs, "condition", text(offer.get("itemCondition")))
    for offer in offers:
        if "lowPrice" in offer or "highPrice" in offer:
            _range(offer, fields, attrs)
    if offers and "availability" not in fields:
        stocks = (availability(first(offer.get("availability"))) for offer in offers)
        _keep(fields, "availability", next(filter(None, stocks), None))
    if len(offers) > 1:
        attrs["offers"] = len(offers)
    if "condition" in attrs:
        attrs["condition"] = name_of(attrs["condition"]).removesuffix("condition")
    return fields, attrs


def _keep(fields: Fields, name: str, value: Any) -> None:
    if value is not None:
        fields[name] = value


def _flat(value: Any, index: dict[str, Thing]) -> list[Thing]:
    """All offers, those within an AggregateOffer after it, those given by reference looked up."""
    found: list[Thing] = []
    for offer in listed(value)[:MAX_OFFERS]:
        if not isinstance(offer, dict):
            continue
        if len(offer) == 1 and isinstance(name := offer.get("@id"), str):
            offer = index.get(name, offer)
        found.append(offer)
        if "offers" in offer:
            found.extend(item for item in listed(offer["offers"])[:MAX_OFFERS] if isinstance(item, dict))
    return found


def _price(offer: Thing) -> tuple[Decimal | None, str | None, Decimal | None]:
    """An offer's price, its currency, and the price struck through beside it."""
    written = first(offer.get("price"))
    code = money.currency(first(offer.get("priceCurrency")), written)
    price = money.amount(written, code)
    struck: Decimal | None = None
    for part in listed(offer.get("priceSpecification")):
        if not isinstance(part, dict):
            continue
        written = first(part.get("price"))
        part_code = money.currency(first(part.get("priceCurrency")), written) or code
        found = money.amount(written, part_code)
        if name_of(text(part.get("priceType")) or "") in STRUCK:
            struck = found
        elif price is None:
            price, code = found, part_code
    return price, code, struck


def _range(offer: Thing, fields: Fields, attrs: Fields) -> None:
    """An AggregateOffer's lowest and highest price; the lowest stands in where no price is given."""
    lowest = first(offer.get("lowPrice"))
    code = money.currency(first(offer.get("priceCurrency")), lowest)
    low, high = money.amount(lowest, code), money.amount(first(offer.get("highPrice")), code)
    _keep(attrs, "low_price", low)
    _keep(attrs, "high_price", high)
    if "price" not in fields and low is not None:
        fields["price"] = low
        _keep(fields, "currency", code)
