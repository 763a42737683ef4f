"""The full and seo columns of a page, read with parsel the way the peers' users would.

Runs in the peers' environment: nothing of Fyke is imported here.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import urljoin

from parsel import Selector

__all__ = ["COLUMNS", "FULL", "SEO", "columns_of"]

FULL = (
    "url",
    "final_url",
    "http_status",
    "fetched_at",
    "title",
    "h1",
    "price",
    "currency",
    "availability",
    "sku",
    "brand",
    "category",
    "breadcrumbs",
    "images",
    "attrs_json",
    "text_hash",
)
SEO = (
    "url",
    "fetched_at",
    "title",
    "meta_description",
    "h1",
    "og_title",
    "og_description",
    "og_image",
    "twitter_title",
    "twitter_description",
    "canonical",
    "robots",
    "hreflang",
    "images_alt_joined",
)
COLUMNS = (*FULL, *(name for name in SEO if name not in FULL))

AVAILABILITY = {
    "InStock": "in_stock",
    "OutOfStock": "out_of_stock",
    "PreOrder": "preorder",
    "BackOrder": "backorder",
    "Discontinued": "discontinued",
    "LimitedAvailability": "limited",
}

Values = dict[str, Any]


def _fold(text: str | None) -> str | None:
    return " ".join(text.split()) or None if text else None


def _structured(selector: Selector) -> Iterator[Values]:
    """The objects of the page's JSON-LD, by what they hold."""
    for text in selector.xpath("//script[@type='application/ld+json']/text()").getall():
        try:
            value = json.loads(text)
        except ValueError:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield from item.get("@graph", [item])


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _name(value: Any) -> str | None:
    value = _first(value)
    return _fold(str(value.get("name") or "")) if isinstance(value, dict) else _fold(value)


def _term(url: str | None) -> str:
    """The name at the end of a schema.org address."""
    return (url or "").rpartition("/")[2]


def _product(item: Values, base: str) -> Values:
    offer = _first(item.get("offers")) or {}
    images = item.get("image") or []
    rating = item.get("aggregateRating") or {}
    attrs = {
        "name": _fold(item.get("name")),
        "color": _fold(item.get("color")),
        "condition": _term(offer.get("itemCondition")).removesuffix("Condition").lower(),
        "rating": {"value": float(rating["ratingValue"]), "count": rating["reviewCount"]} if rating else None,
    }
    return {
        "price": str(offer["price"]) if "price" in offer else None,
        "currency": offer.get("priceCurrency"),
        "availability": AVAILABILITY.get(_term(offer.get("availability"))),
        "sku": _fold(item.get("sku")),
        "brand": _name(item.get("brand")),
        "category": _name(item.get("category")),
        "images": "|".join(urljoin(base, url) for url in (images if isinstance(images, list) else [images])),
        "attrs_json": json.dumps({key: value for key, value in attrs.items() if value}),
    }


def _crumbs(item: Values) -> Values:
    steps = sorted(item.get("itemListElement") or [], key=lambda step: cast(int, step.get("position", 0)))
    return {"breadcrumbs": " > ".join(_name(step) or "" for step in steps)}


def _metas(selector: Selector) -> dict[str, str]:
    metas: dict[str, str] = {}
    for meta in selector.xpath("//head/meta[@content]"):
        attributes = meta.attrib
        key = attributes.get("property") or attributes.get("name")
        if key:
            metas.setdefault(key.lower(), attributes["content"])
    return metas


def _seo(selector: Selector, base: str) -> Values:
    metas = _metas(selector)
    image = metas.get("og:image")
    canonical = selector.xpath("//link[@rel='canonical']/@href").get()
    alternates = (link.attrib for link in selector.xpath("//link[@rel='alternate'][@hreflang]"))
    alts = (_fold(alt) for alt in selector.xpath("//img/@alt").getall())
    return {
        "meta_description": _fold(metas.get("description")),
        "og_title": _fold(metas.get("og:title")),
        "og_description": _fold(metas.get("og:description")),
        "og_image": urljoin(base, image) if image else None,
        "twitter_title": _fold(metas.get("twitter:title")),
        "twitter_description": _fold(metas.get("twitter:description")),
        "canonical": urljoin(base, canonical) if canonical else None,
        "robots": _fold(metas.get("robots")),
        "hreflang": "|".join(f"{link['hreflang']}={urljoin(base, link['href'])}" for link in alternates),
        "images_alt_joined": "|".join(alt for alt in alts if alt),
    }


def _text_hash(selector: Selector) -> str:
    """SHA-256 of what a visitor reads, white space left out. Takes scripts and styles out of the tree:
    to be called last."""
    selector.xpath("//script | //style | //noscript | //template").drop()
    text = selector.xpath("string(//body)").get() or ""
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()


def columns_of(selector: Selector, url: str, final_url: str, status: int) -> Values:
    """One page's row, all columns of both exports."""
    row: Values = dict.fromkeys(COLUMNS)
    row.update(
        url=url,
        final_url=final_url,
        http_status=status,
        fetched_at=datetime.now(UTC).isoformat(),
        title=_fold(selector.xpath("//title/text()").get()),
        h1=_fold(selector.xpath("string(//h1)").get()),
    )
    for item in _structured(selector):
        if item.get("@type") == "Product":
            row.update(_product(item, final_url))
        elif item.get("@type") == "BreadcrumbList":
            row.update(_crumbs(item))
    row.update(_seo(selector, final_url))
    row["text_hash"] = _text_hash(selector)
    return row
