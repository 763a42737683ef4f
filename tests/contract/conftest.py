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
from tests.servers import Database, MariaDB, Postgres
from tests.services import Services

SERVERS: dict[str, type[Database]] = {"postgres": Postgres, "mariadb": MariaDB}


@pytest.fixture(scope="session", params=["sqlite", "postgres", "mariadb"])
def migrated_url(
    request: pytest.FixtureRequest, services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A database of each kind in turn, with the schema."""
    if request.param == "sqlite":
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
async def rig(migrated_url: str) -> AsyncIterator[Rig]:
    """A queue on an empty database of each kind in turn, with a lease."""
    opened = Rig(migrated_url)
    try:
        await opened.database.open()
        await empty(opened)
        opened.lease = await opened.open_lease()
        yield opened
    finally:
        await opened.close()
