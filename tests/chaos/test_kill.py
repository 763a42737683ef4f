"""Workers die by kill -9, at random and in numbers; the job ends as if they had not."""

import signal
from pathlib import Path

import pytest

from tests.chaos.moments import Moments
from tests.chaos.rig import rigged
from tests.chaos.size import SHARED, Size, on, sizes
from tests.processes import send

SHORT = Size(pages=600, blows=8)
LONG = Size(pages=10_000, blows=100, workers=4, lease=15, concurrency=64, delay=0.01)
rarely = sizes(
    Size(pages=300, blows=2),
    Size(pages=5_000, blows=8, lease=15, concurrency=64, delay=0.01),
)


@on(SHARED, SHORT, LONG)
async def test_workers_of_a_shared_database(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    url = request.getfixturevalue(database)
    async with rigged(tmp_path, url, size) as rig:
        await rig.serve(workers=0)
        await rig.staff(size.workers)
        job = await rig.submit()
        moments = Moments(rig.site, size.blows)
        while moments:
            await moments.next()
            victim = moments.random.choice([worker for worker in rig.workers if worker.runs])
            await victim.kill()
            rig.died(victim.pid)
            await rig.replace(victim)
        await rig.finish(job, size.seconds)
        (await rig.tally("workers killed", job)).check(size.lease)


@sizes(SHORT, LONG)
async def test_worker_processes_of_an_embedded_database(tmp_path: Path, sqlite_url: str, size: Size) -> None:
    """The server notices, and starts others."""
    async with rigged(tmp_path, sqlite_url, size) as rig:
        server = await rig.serve(workers=size.workers)
        job = await rig.submit()
        moments = Moments(rig.site, size.blows)
        while moments:
            await moments.next()
            victim = moments.random.choice(await server.some_children())
            send([victim], signal.SIGKILL)
            rig.died(victim)
        await rig.finish(job, size.seconds)
        (await rig.tally("worker processes killed", job)).check(size.lease)


@rarely
async def test_the_whole_server_of_an_embedded_database(tmp_path: Path, sqlite_url: str, size: Size) -> None:
    """With its worker processes, which end when it has gone, and start again with it."""
    async with rigged(tmp_path, sqlite_url, size) as rig:
        server = await rig.serve(workers=size.workers)
        job = await rig.submit()
        moments = Moments(rig.site, size.blows)
        while moments:
            await moments.next()
            children = server.children
            await server.kill()
            await server.ended(seconds=20)
            server = await rig.serve(workers=size.workers)
            rig.died(*children)  # now that there is somebody who can take over
        await rig.finish(job, size.seconds)
        (await rig.tally("server killed", job)).check(size.lease)


@rarely
async def test_a_crawl_run_again_and_again(tmp_path: Path, sqlite_url: str, size: Size) -> None:
    """`fyke crawl` without a server: the same command goes on where it was killed."""
    async with rigged(tmp_path, sqlite_url, size) as rig:
        (tmp_path / "urls.txt").write_text("\n".join(rig.site.urls))
        command = ("crawl", "urls.txt", "--concurrency", str(size.concurrency), "--delay", "0", "--json")
        moments = Moments(rig.site, size.blows)
        while moments:
            crawl = await rig.run(*command)
            await moments.next()
            await crawl.kill()
            rig.kills += 1
        crawl = await rig.run(*command)
        assert await crawl.ended(240) == 0, crawl.said()
        job = await rig.value("SELECT max(id) FROM jobs")
        (await rig.tally("crawl killed", job)).check(size.lease)
