"""A page that kills whoever fetches it is set aside after three deaths alone; all others are done.

No test code runs in a worker: the site itself kills the process at the other end of the connection by
which the page was asked for.
"""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.programs import owner_of
from tests.chaos.rig import Rig, rigged
from tests.chaos.size import SHARED, Size, on, sizes
from tests.processes import send

DEATHS = 4  # once among others, three times alone

ONE = Size(pages=200, blows=1, lease=2)
SOME = Size(pages=2_000, blows=3, lease=5)


async def crawl_with_poison(rig: Rig, size: Size, scenario: str, workers: Callable[[], list[int]]) -> None:
    """Crawl, with as many deadly pages as there are to be blows. `workers` are those that live."""

    def kill(port: int) -> None:
        owner = owner_of(port, workers())
        if owner is None:  # it has hung up: somebody else's poison was quicker
            return
        send([owner], signal.SIGKILL)
        rig.died(owner)

    site = rig.site
    site.on_poison = kill
    site.poison = frozenset(site.paths[:: size.pages // size.blows][: size.blows])
    job = await rig.submit()
    await rig.finish(job, size.seconds)
    (await rig.tally(scenario, job, guilty=site.poison)).check(size.lease)
    aside = await rig.rows("SELECT url, error_class FROM pages WHERE state = 'quarantined'")
    assert sorted(aside) == sorted((site.base + path, "worker_killed") for path in site.poison)
    assert size.blows * DEATHS - size.blows < rig.kills <= size.blows * DEATHS


@on(SHARED, ONE, SOME, short_on=["postgres_url"])
async def test_in_workers_of_a_shared_database(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    url = request.getfixturevalue(database)
    async with rigged(tmp_path, url, size) as rig:
        await rig.serve(workers=0)
        await rig.staff(size.workers)
        replacing = asyncio.create_task(replace_dead(rig))
        try:
            await crawl_with_poison(rig, size, "deadly pages", lambda: [w.pid for w in rig.workers if w.runs])
        finally:
            replacing.cancel()


async def replace_dead(rig: Rig) -> None:
    """What a service manager does."""
    while True:
        ends = [asyncio.ensure_future(worker.ended(seconds=3600)) for worker in rig.workers]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        for worker in [*rig.workers]:
            if not worker.runs:
                await rig.replace(worker)


@sizes(ONE, SOME)
async def test_in_worker_processes_of_an_embedded_database(
    tmp_path: Path, sqlite_url: str, size: Size
) -> None:
    async with rigged(tmp_path, sqlite_url, size) as rig:
        server = await rig.serve(workers=size.workers)
        await crawl_with_poison(rig, size, "deadly pages", lambda: server.children)
