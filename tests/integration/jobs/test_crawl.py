"""Whole crawls, from a request to its exports, against local servers."""

import csv
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fyke.jobs.submit import JobRequest
from fyke.shop.shop import Shop
from tests.integration.jobs.driver import Bench, bench, options


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop(products=60)
    await shop.start()
    yield shop
    await shop.stop()


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


async def test_a_sitemap_becomes_exports(here: Bench, shop: Shop) -> None:
    job = await here.crawl(JobRequest(sitemap=shop.sitemap_url, options=options()))
    assert job.close_reason in ("succeeded", "partial")
    print(job)
    print(await here.rows("select state, error_class, count(*) from pages group by 1, 2"))
    print((await here.export(job.id, "full.csv"))[:1000])
