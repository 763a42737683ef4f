"""What was read from a page. Every field may be missing; missing is None, never an error."""

from decimal import Decimal
from typing import Any

from msgspec import Struct, field

__all__ = ["Product", "Record", "Seo"]


class Product(Struct, frozen=True, omit_defaults=True):
    """A product as a person would see it on the page. `attrs` holds what was seen besides."""

    price: Decimal | None = None
    currency: str | None = None
    availability: str | None = None
    sku: str | None = None
    brand: str | None = None
    category: str | None = None
    breadcrumbs: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)


class Seo(Struct, frozen=True, omit_defaults=True):
    """What search engines and link previews are told."""

    meta_description: str | None = None
    og_title: str | None = None
    og_description: str | None = None
    og_image: str | None = None
    twitter_title: str | None = None
    twitter_description: str | None = None
    canonical: str | None = None
    robots: str | None = None
    hreflang: tuple[tuple[str, str], ...] = ()
    images_alt: tuple[str, ...] = ()


class Record(Struct, frozen=True):
    """One page's record: common fields, the target type's data, SEO. `text_hash` is the SHA-256 of
    the page's text in hex."""

    title: str | None
    h1: str | None
    text_hash: str
    data: Product
    seo: Seo
    links: tuple[str, ...] = ()
