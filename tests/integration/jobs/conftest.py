from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copyfile

import pytest

from tests.integration.jobs.driver import Bench, bench
from tests.integration.jobs.site import Site


@pytest.fixture
async def here(tmp_path: Path, shop: Site, template: Path) -> AsyncIterator[Bench]:
    """A place to crawl from; it is left before the site closes."""
    copyfile(template, tmp_path / "fyke.db")
    async with bench(tmp_path) as made:
        yield made
