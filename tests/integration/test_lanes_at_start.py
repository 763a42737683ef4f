"""A process that starts brings the lanes that it finds in line with the policies that it has."""

from pathlib import Path

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.outcome import SaveRobots
from fyke.jobs.submit import JobRequest
from fyke.politeness.policies import Policies
from fyke.settings import Settings
from fyke.store.conn import Conn
from fyke.store.jobs import create_job
from fyke.wiring import Base, Engine, open_base

PAIR = "policies: {pair: {hosts: [a.test, b.test], shared: true, delay: %s}}\n"
POLICIES = "default: {delay: 1s}\n" + PAIR % "2s"
CHANGED = "default: {delay: 5s, concurrency: 3}\n" + PAIR % "1s"
URLS = ("https://plain.test/1", "https://patient.test/1", "https://a.test/1")
ROBOTS = b"User-agent: *\nCrawl-delay: 20\n"


async def start_with(settings: Settings, text: str, *, adopts: bool = True) -> dict[str, tuple[int, int]]:
    """The interval and cap of the lanes, after the start of a process that works on nothing."""
    base = await open_base(settings, Policies.with_file(text))
    engine = Engine(base, None, adopts=adopts)
    await engine.start()
    try:
        rows = await base.database.read(
            lambda conn: conn.fetch("SELECT name, base_spacing, cap FROM lanes WHERE name NOT LIKE 'fyke:%'")
        )
        if not rows:
            await _fill(base)
        return {name: (interval // SECOND, cap) for name, interval, cap in rows}
    finally:
        await engine.stop()


async def _fill(base: Base) -> None:
    prepared = await base.submit(JobRequest(urls=URLS))
    now = clock.now()

    async def write(conn: Conn) -> None:
        await create_job(conn, prepared)
        row = SaveRobots("https://patient.test", "rules", ROBOTS, now, now + 3600 * SECOND)
        columns = ("origin_key", "origin", "verdict", "body", "fetched_at", "expires_at")
        values = (b"k" * 16, row.origin, row.verdict, row.body, row.fetched_at, row.expires_at)
        await conn.insert("robots", columns, [values])

    await base.database.write(write)


async def test_lanes_follow_the_policies_of_the_last_start(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    assert await start_with(settings, POLICIES) == {}
    before = {"plain.test": (1, 1), "patient.test": (1, 1), "pair": (2, 1)}
    assert await start_with(settings, CHANGED, adopts=False) == before
    after = {"plain.test": (5, 3), "patient.test": (20, 3), "pair": (1, 3)}
    assert await start_with(settings, CHANGED) == after
    assert (await start_with(settings, POLICIES))["patient.test"] == (20, 1)
