"""The database goes away in the middle, and comes back; connections break at any moment."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.chaos.moments import Moments
from tests.chaos.rig import Rig, rigged
from tests.chaos.size import SHARED, Size, on, sizes
from tests.proxy import Proxy, port_of, through
from tests.servers import Database

restarts = on(
    ("own_postgres", "own_mariadb"),
    Size(pages=300, blows=2, lease=5),
    Size(pages=2_000, blows=6, lease=15, concurrency=32),
)
CUTS = Size(pages=400, blows=12, lease=5)
MANY_CUTS = Size(pages=3_000, blows=150, lease=15, concurrency=32)
OUT_OF_REACH = 1.0  # seconds

Blow = Callable[[int], Awaitable[Any]]


async def crawl_through(rig: Rig, size: Size, scenario: str, blow: Blow) -> None:
    """A crawl during which `blow` is called with 0, 1, 2 and so on."""
    await rig.serve(workers=0)
    await rig.staff(size.workers)
    job = await rig.submit()
    moments = Moments(rig.site, size.blows)
    for number in range(size.blows):
        await moments.next()
        await blow(number)
        rig.kills += 1
    await rig.finish(job, size.seconds)
    (await rig.tally(scenario, job)).check(size.lease)
    assert all(worker.runs for worker in rig.workers), "nobody gave up"


@restarts
async def test_the_database_restarts(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    """In good order and by kill -9 in turn."""
    server: Database = request.getfixturevalue(database)

    async def restart(number: int) -> None:
        await asyncio.to_thread(server.kill if number % 2 else server.stop)
        await asyncio.to_thread(server.start)

    with server.database() as url:
        async with rigged(tmp_path, url, size) as rig:
            await crawl_through(rig, size, "database restarted", restart)


@sizes(CUTS, MANY_CUTS)
async def test_connections_are_terminated(tmp_path: Path, postgres_url: str, size: Size) -> None:
    """All of them, again and again, by pg_terminate_backend."""
    admin = await asyncpg.connect(postgres_url)

    async def terminate(_number: int) -> None:
        await admin.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    try:
        async with rigged(tmp_path, postgres_url, size) as rig:
            await crawl_through(rig, size, "connections terminated", terminate)
    finally:
        await admin.close()


@on(SHARED, CUTS, MANY_CUTS, short_on=["mysql_url"])
async def test_the_network_breaks(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    """Connections are reset, and every tenth time nothing can be reached for a while."""
    url: str = request.getfixturevalue(database)
    async with Proxy(port_of(url)) as proxy:

        async def cut(number: int) -> None:
            if number % 10 == 9:
                proxy.cut()
                await asyncio.sleep(OUT_OF_REACH)
                proxy.mend()
            else:
                proxy.break_connections()

        async with rigged(tmp_path, url, size, database_url=through(url, proxy.port)) as rig:
            await crawl_through(rig, size, "connections cut", cut)
