import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from shutil import copyfile

import pytest

from fyke.store.migrate import migrate
from tests.integration.jobs.driver import Bench, bench
from tests.integration.jobs.site import Site, site


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded database at the newest schema, to be copied."""
    path = tmp_path_factory.mktemp("template") / "fyke.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture
async def shop() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


@pytest.fixture
async def here(tmp_path: Path, shop: Site, template: Path) -> AsyncIterator[Bench]:
    """A place to crawl from; it is left before the site closes."""
    copyfile(template, tmp_path / "fyke.db")
    async with bench(tmp_path) as made:
        yield made
