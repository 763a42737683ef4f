from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from shutil import copyfile

import httpx
import pytest
import structlog

from tests.integration.api.world import World, world
from tests.integration.api_parts import Parts
from tests.integration.jobs.site import Site


@pytest.fixture(autouse=True)
def plain_log() -> Iterator[None]:
    """Tracebacks as a server logs them; the other kind shows every variable, and takes its time."""
    steps = structlog.processors
    merge = structlog.contextvars.merge_contextvars
    structlog.configure(processors=[merge, steps.add_log_level, steps.format_exc_info, steps.JSONRenderer()])
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def fresh_health(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Parts, for whole servers."""
    monkeypatch.setattr("fyke.api.health.KEPT", 0.0)


@pytest.fixture
async def parts(tmp_path: Path, template: Path) -> AsyncIterator[Parts]:
    """The application without an engine."""
    copyfile(template, tmp_path / "fyke.db")
    async with Parts.running(tmp_path) as running:
        yield running


@pytest.fixture
async def admin(parts: Parts) -> AsyncIterator[httpx.AsyncClient]:
    """A client of it, without a socket, that sends an admin key."""
    async with parts.client() as client:
        yield client


@pytest.fixture
async def fyke(tmp_path: Path, template: Path, shop: Site) -> AsyncIterator[World]:
    """A whole server, and a site that it may crawl."""
    async with world(tmp_path, template, shop) as made:
        yield made
