"""A worker that is stopped past its lease and goes on is late, and so is one whose network hangs: others
have done its work, and what it brings is refused."""

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import Struct

from tests.chaos.programs import Program, pause
from tests.chaos.rig import Rig, rigged
from tests.chaos.size import SHARED, Size, on, sizes
from tests.processes import send
from tests.proxy import Proxy, port_of, through

ONCE = Size(pages=60, blows=1)
ROUNDS = Size(pages=300, blows=4)


class Sleeper(Struct):
    """The worker that is to fall asleep. `speaker` says what it logs, and `startled` is what it says when
    it has woken up."""

    pid: int
    speaker: Program
    sleep: Callable[[], Awaitable[None]]
    wake: Callable[[], None]
    startled: str = "lease_lost"

    def dropped(self) -> int:
        """How many outcomes it has brought too late."""
        return sum(int(str(entry["count"])) for entry in self.speaker.logged("late_outcomes_dropped"))


def stopped(pid: int, speaker: Program) -> Sleeper:
    return Sleeper(pid, speaker, lambda: pause(pid), lambda: send([pid], signal.SIGCONT))


@on(SHARED, ONCE, ROUNDS)
async def test_a_worker_of_a_shared_database(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    url = request.getfixturevalue(database)
    async with rigged(tmp_path, url, size, pages=size.pages * size.blows) as rig:
        await rig.serve(workers=0)
        await rig.staff(2)
        worker = rig.workers[0]
        await sleep_and_wake(rig, size, stopped(worker.pid, worker), "worker stopped past its lease")


@sizes(ONCE, ROUNDS)
async def test_a_worker_process_of_an_embedded_database(tmp_path: Path, sqlite_url: str, size: Size) -> None:
    async with rigged(tmp_path, sqlite_url, size, pages=size.pages * size.blows) as rig:
        server = await rig.serve(workers=2)
        pid = (await server.some_children())[0]
        await sleep_and_wake(rig, size, stopped(pid, server), "worker stopped past its lease")


@on(SHARED, ONCE, ROUNDS, short_on=["postgres_url"])
async def test_a_worker_whose_network_hangs(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    """What it has sent arrives when its lease has run out."""
    url = request.getfixturevalue(database)
    async with (
        Proxy(port_of(url)) as proxy,
        rigged(tmp_path, url, size, pages=size.pages * size.blows) as rig,
    ):
        await rig.serve(workers=0)
        await rig.staff(1)
        rig.settings["FYKE_DATABASE_URL"] = through(url, proxy.port)
        await rig.staff(1)
        worker = rig.workers[1]

        async def hang() -> None:
            proxy.pause()

        sleeper = Sleeper(worker.pid, worker, hang, proxy.resume, "late_outcomes_dropped")
        await sleep_and_wake(rig, size, sleeper, "network hangs past the lease")
        assert sleeper.dropped() >= size.blows, "it did bring something late each time"


async def sleep_and_wake(rig: Rig, size: Size, sleeper: Sleeper, scenario: str) -> None:
    """Jobs in the middle of which the worker falls asleep, while answers are on their way to it, until
    others have ended the job."""
    written: dict[int, set[tuple[object, ...]]] = {}
    for start in range(0, len(rig.site.urls), size.pages):
        rig.site.shut()
        expected = rig.site.distinct() + 2 * size.concurrency
        job = await rig.submit(rig.site.urls[start : start + size.pages])
        # Until both workers wait for as many answers as they ask for at once.
        await rig.site.until(lambda expected=expected: rig.site.distinct() >= expected)  # type: ignore[misc]  # bound default
        await sleeper.sleep()
        rig.died(sleeper.pid)
        rig.site.open()
        await rig.finish(job, size.seconds)
        written[job] = await written_for(rig, job)
        said = len(sleeper.speaker.lines)
        sleeper.wake()
        await sleeper.speaker.until(lambda line: sleeper.startled in line, since=said)
    sleeper.speaker.process.terminate()
    assert await sleeper.speaker.ended() == 0, "and what it still had to say it has said"
    accepted = sum([len(await written_for(rig, job) ^ before) for job, before in written.items()])
    print(f"\nchaos: {sleeper.dropped()} late writes were refused")
    (await rig.tally(scenario, *written, late_accepted=accepted)).check(size.lease)


async def written_for(rig: Rig, job: int) -> set[tuple[object, ...]]:
    """What settling writes of a job's pages: a title tells which answer it was made of."""
    pages = await rig.rows("SELECT seq, state, title, fetched_at FROM pages WHERE job = $1", job)
    return {*pages, *await rig.rows("SELECT task, lease, claims, at FROM finished WHERE job = $1", job)}
