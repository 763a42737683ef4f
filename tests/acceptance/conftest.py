from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.command import Fyke
from tests.integration.jobs.site import Site, site


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
