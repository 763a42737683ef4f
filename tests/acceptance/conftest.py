from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.command import Fyke
from tests.integration.jobs.site import Site, site

HERE = Path(__file__).parent
LIMIT = 400  # seconds: many processes are started one after the other, on whatever machine this is


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(LIMIT))


@pytest.fixture
async def fyke(tmp_path: Path) -> AsyncIterator[Fyke]:
    """Commands in an empty directory; what still runs when the test is over is ended."""
    made = Fyke(tmp_path)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    async with site() as made:
        yield made
