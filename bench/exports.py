"""How long exports take: `python bench/exports.py [ROWS]` writes that many made-up pages (200,000) to a
database in a temporary directory, exports them in each format in a process of its own, and prints
seconds, peak memory and size. Best of three, as other work on the machine only ever adds time.

The csv module writing the same rows, alone, is the yardstick to compare machines by.
"""

import asyncio
import csv
import hashlib
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import json

from fyke.core.record import Product, Seo
from fyke.export.rows import READ
from fyke.export.write import write
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.pages import read_pages

ROWS = 200_000
BATCH = 1000
JOB = 1
EXPORTS = (
    ("full", "csv"),
    ("full", "jsonl"),
    ("full", "json"),
    ("full", "xlsx"),
    ("full", "parquet"),
    ("seo", "csv"),
    ("seo", "xlsx"),
)
COLUMNS = (
    "job, seq, state, url, final_url, http_status, fetched_at, title, h1, content_hash, data_full, data_seo"
)


def pages(amount: int) -> Iterator[tuple[Any, ...]]:
    """Pages of a shop: most titles with a comma, some with letters beyond Latin, four images each."""
    chance = random.Random(7)
    encode = json.Encoder(decimal_format="number").encode
    for number in range(amount):
        brand = chance.choice(["Nordlicht", "Acme & Co", "Sørensen", "Kōhaku", "Bright"])
        kind = chance.choice(["Lamp", "Chair", "Table", "Rug"])
        width = chance.randint(10, 300)
        title = f"{brand} {kind} {number}, {chance.choice(['oak', 'walnut', 'steel'])} {width} cm"
        url = f"https://shop.example/products/{kind.lower()}/{number:06}"
        images = tuple(f"https://cdn.shop.example/img/{number:06}/{image}.jpg" for image in range(4))
        product = Product(
            price=Decimal(chance.randint(100, 99_999)) / 100,
            currency="EUR",
            availability="InStock",
            sku=f"SKU-{number:07}",
            brand=brand,
            category=f"{kind}s",
            breadcrumbs=("Home", "Furniture", f"{kind}s", brand),
            images=images,
            attrs={"material": "oak", "width_cm": width, "colour": "natural", "gtin13": f"{number:013}"},
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
        at = 1_770_000_000_000_000 + number * 1_370
        digest = hashlib.sha256(url.encode()).hexdigest()
        data = encode(product).decode(), encode(seo).decode()
        yield JOB, number, "succeeded", url, f"{url}?v=1", 200, at, title, title, digest, *data


def fill(path: Path, amount: int) -> None:
    asyncio.run(migrate(f"sqlite:///{path}"))
    with sqlite3.connect(path) as database:
        database.executemany(
            f"INSERT INTO pages ({COLUMNS}) VALUES ({','.join('?' * (COLUMNS.count(',') + 1))})",
            pages(amount),
        )
    database.close()


async def batches(path: Path, kind: str) -> AsyncIterator[Sequence[Any]]:
    """As jobs.export reads them."""
    database = database_for(f"sqlite:///{path}")
    await database.open()
    after = -1
    while rows := await database.read(
        partial(read_pages, job=JOB, after=after, limit=BATCH, kind=kind)  # one short read at a time
    ):
        yield rows
        after = rows[-1][-1]
    await database.close()


def measure(path: Path, kind: str, format: str) -> None:
    """Print what one export took."""
    target = path.with_name("export")
    start = time.perf_counter()
    written = asyncio.run(write(kind, format, batches(path, kind), target))
    print(
        time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, written.bytes
    )


def yardstick(path: Path) -> float:
    """Seconds that the csv module takes for the writing alone."""

    async def columns() -> list[Any]:
        return [READ["full"](list(batch)) async for batch in batches(path, "full")]

    rows = [list(zip(*batch, strict=True)) for batch in asyncio.run(columns())]
    with path.with_name("export").open("w", newline="") as file:
        start = time.perf_counter()
        for batch in rows:
            csv.writer(file).writerows(batch)
        return time.perf_counter() - start


def main() -> None:
    if len(sys.argv) == 4:
        measure(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
        return
    amount = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pages.db"
        fill(path, amount)
        print(f"{amount:,} rows; {'seconds':>8} {'MB peak':>8} {'MB file':>8}")
        for kind, format in EXPORTS:
            runs = [
                subprocess.run(
                    [sys.executable, __file__, path, kind, format], check=True, capture_output=True
                )
                for _ in range(3)
            ]
            results = [[float(cell) for cell in run.stdout.split()] for run in runs]
            seconds, peak, size = (min(column) for column in zip(*results, strict=True))
            print(f"{kind + ' ' + format:<13} {seconds:8.2f} {peak:8.0f} {size / 1e6:8.1f}", flush=True)
        print(f"{'csv module':<13} {min(yardstick(path) for _ in range(3)):8.2f}  (writing alone)")


if __name__ == "__main__":
    main()
