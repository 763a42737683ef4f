"""Migrated databases: one for each kind, emptied between tests."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fyke.store.conn import Conn
from fyke.store.migrate import migrate
from fyke.store.schema import metadata
from tests.conftest import shared
from tests.contract.rig import Rig
from tests.contract.wired import WiredRig
from tests.servers import Database, MariaDB, Postgres
from tests.services import Services

SERVERS: dict[str, type[Database]] = {"postgres": Postgres, "mariadb": MariaDB}
KINDS = ("sqlite", "postgres", "mariadb")
WIRE = "wire"  # to SQLite: for what a worker can do with the port alone
WIRED = {f"tests.contract.test_queue_{name}" for name in ("basics", "jobs", "leases", "order", "strikes")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "migrated_url" in metafunc.fixturenames:
        kinds = (*KINDS, WIRE) if metafunc.module.__name__ in WIRED else KINDS
        metafunc.parametrize("migrated_url", kinds, indirect=True, scope="session")


@pytest.fixture(scope="session")
def migrated_url(
    request: pytest.FixtureRequest, services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A database of each kind in turn, with the schema."""
    if request.param in ("sqlite", WIRE):
        path: Path = tmp_path_factory.mktemp("queue") / "fyke.db"
        url = f"sqlite:///{path}"
        asyncio.run(migrate(url))
        yield url
        return
    with shared(services, SERVERS[request.param]).database() as url:
        asyncio.run(migrate(url))
        yield url


async def empty(rig: Rig) -> None:
    async def work(conn: Conn) -> None:
        for table in metadata.tables:
            await conn.execute(f"DELETE FROM {table}")

    await rig.database.write(work)


@pytest.fixture
async def rig(migrated_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A queue on an empty database of each kind in turn, or at the end of a wire, with a lease."""
    wired = request.node.callspec.params["migrated_url"] == WIRE
    opened = WiredRig(migrated_url) if wired else Rig(migrated_url)
    try:
        await opened.database.open()
        await opened.connect()
        await empty(opened)
        opened.lease = await opened.open_lease()
        yield opened
    finally:
        await opened.close()
