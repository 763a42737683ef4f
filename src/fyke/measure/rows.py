"""Made-up pages of a shop, as the store keeps them: most titles with a comma, some with letters beyond
Latin, four images each; the same rows on every machine."""

import hashlib
import random
from collections.abc import Iterator
from decimal import Decimal

from fyke.core.outcome import PageRow
from fyke.core.record import Product, Record, Seo
from fyke.extract.encode import data_json, seo_json

__all__ = ["page_rows"]

BEGAN = 1_770_000_000_000_000
APART = 1_370  # µs between two pages
SITE = "https://shop.example"
IMAGES = "https://cdn.shop.example/img"


def page_rows(amount: int) -> Iterator[PageRow]:
    chance = random.Random(7)  # noqa: S311 - no secret
    return (_row(number, chance) for number in range(amount))


def _row(number: int, chance: random.Random) -> PageRow:
    brand = chance.choice(["Nordlicht", "Acme & Co", "Sørensen", "Kōhaku", "Bright"])
    kind = chance.choice(["Lamp", "Chair", "Table", "Rug"])
    width = chance.randint(10, 300)
    title = f"{brand} {kind} {number}, {chance.choice(['oak', 'walnut', 'steel'])} {width} cm"
    url = f"{SITE}/products/{kind.lower()}/{number:06}"
    images = tuple(f"{IMAGES}/{number:06}/{image}.jpg" for image in range(4))
    product = Product(
        price=Decimal(chance.randint(100, 99_999)) / 100,
        currency="EUR",
        availability="InStock",
        sku=f"SKU-{number:07}",
        brand=brand,
        category=f"{kind}s",
        breadcrumbs=("Home", "Furniture", f"{kind}s", brand),
        images=images,
        attrs={"material": "oak", "width_cm": str(width), "colour": "natural", "gtin13": f"{number:013}"},
    )
    seo = Seo(
        meta_description=f"Buy {title} at the shop. Free delivery.",
        og_title=title,
        og_image=images[0],
        canonical=url,
        robots="index,follow",
        hreflang=(("en", url), ("de", f"{url}?lang=de")),
        images_alt=(title, "side", "back"),
    )
    digest = hashlib.sha256(url.encode()).hexdigest()
    record = Record(title=title, h1=title, data=product, seo=seo, text_hash=digest)
    return PageRow(
        seq=number,
        url=url,
        state="succeeded",
        fetched_at=BEGAN + number * APART,
        final_url=f"{url}?v=1",
        http_status=200,
        title=title,
        h1=title,
        content_hash=digest,
        bytes_in=30_000,
        data_full=data_json(record),
        data_seo=seo_json(record),
        strategy_used="http",
        elapsed_ms=40,
    )
