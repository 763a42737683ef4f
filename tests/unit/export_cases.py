"""Rows that the export tests write and read back."""

from decimal import Decimal
from io import BytesIO
from typing import Any

from msgspec import json

from fyke.core import clock
from fyke.core.outcome import Change
from fyke.core.record import Product, Seo
from fyke.export.rows import COLUMNS, READ, PageRecord
from fyke.export.write import WRITERS

AT = clock.from_iso("2026-03-01T09:30:00.125Z")
ENCODE = json.Encoder(decimal_format="number").encode
HASH = "0f" * 32


def page(
    url: str = "https://shop.example/p/1",
    *,
    title: str | None = "Oak table",
    h1: str | None = "Oak table, large",
    status: int | None = 200,
    state: str = "succeeded",
    data: Product | None = None,
    seo: Seo | None = None,
) -> PageRecord:
    return PageRecord(
        url,
        f"{url}?v=1",
        status,
        AT,
        title,
        h1,
        HASH,
        ENCODE(data or Product()),
        ENCODE(seo or Seo()),
        state,
    )


FULL = [
    page(
        data=Product(
            price=Decimal("1299.90"),
            currency="EUR",
            availability="InStock",
            sku="T-1",
            brand='Nord "Licht" & <Söhne>',
            category="Tables",
            breadcrumbs=("Home", "Tables"),
            images=("https://shop.example/1.jpg", "https://shop.example/2|b.jpg"),
            attrs={"width": "90 cm", "legs": 4},
        )
    ),
    page("https://shop.example/p/2", title=None, h1=None),
    page("https://shop.example/p/3", title="Access denied", status=403, state="failed"),
    page("https://shop.example/p/4", status=None, state="failed"),
]
SEO = [
    page(
        seo=Seo(
            meta_description="Tables; and more",
            og_title="Oak",
            og_description="Solid oak",
            og_image="https://shop.example/1.jpg",
            twitter_title="Oak!",
            twitter_description="Oak?",
            canonical="https://shop.example/p/1",
            robots="index,follow",
            hreflang=(("en", "https://shop.example/p/1"), ("de", "https://shop.example/de/p/1")),
            images_alt=("front", "side"),
        )
    ),
    page("https://shop.example/p/3", title="Access denied", status=403, state="failed"),
]
DIFF = [
    Change(1, "https://shop.example/p/1", "ADDED", AT, price_curr="19.90", title_curr="Lamp"),
    Change(
        2,
        "https://shop.example/p/2",
        "MODIFIED",
        AT,
        prev_at=AT - clock.SECOND,
        fields_changed="price;title",
        price_prev="10.00",
        price_curr="9.50",
        availability_prev="InStock",
        availability_curr="OutOfStock",
        title_prev="Lamp",
        title_curr="=Lamp",
    ),
]
ROWS: dict[str, list[Any]] = {"full": FULL, "seo": SEO, "diff": DIFF}


def written(kind: str, format: str, *batches: list[Any]) -> bytes:
    """The export's bytes."""
    file = BytesIO()
    writer = WRITERS[format](file, COLUMNS[kind])
    for batch in batches:
        writer.add(READ[kind](batch))
    writer.close()
    return file.getvalue()
