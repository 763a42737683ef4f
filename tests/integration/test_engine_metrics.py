"""What an engine counts while it works."""

import asyncio
from pathlib import Path

from fyke.jobs.submit import JobRequest
from fyke.settings import Settings
from fyke.shop import Shop
from fyke.store.jobs import create_job
from fyke.wiring import Engine, open_base


async def test_tasks_that_run_are_told(tmp_path: Path) -> None:
    shop = Shop()
    address = await shop.start()
    slow = shop.troubles.slow[0]
    given = {"data_dir": tmp_path / "data", "egress_allow": ["127.0.0.0/8"], "grace_seconds": 0}
    base = await open_base(Settings.model_validate(given))
    engine = Engine(base)
    await engine.start()
    try:
        assert engine.registry.get_sample_value("fyke_tasks_running") == 0
        prepared = await base.submit(JobRequest(urls=(address + slow,)))
        await base.database.write(lambda conn: create_job(conn, prepared))
        base.queue.wake()
        async with asyncio.timeout(60):
            while not shop.hits[slow]:  # noqa: ASYNC110 - the shop counts, and tells nobody
                await asyncio.sleep(0.01)
        assert engine.registry.get_sample_value("fyke_tasks_running") == 1
    finally:
        await engine.stop()
        await shop.stop()
    assert engine.registry.get_sample_value("fyke_tasks_running") == 0
