from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.jobs.driver import Bench, bench
from tests.integration.jobs.site import Site, site


@pytest.fixture
async def shop() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


@pytest.fixture
async def here(tmp_path: Path, shop: Site) -> AsyncIterator[Bench]:
    """A place to crawl from; it leaves before the site closes."""
    async with bench(tmp_path) as made:
        yield made
