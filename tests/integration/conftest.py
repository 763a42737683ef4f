import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fyke.store.migrate import migrate
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
