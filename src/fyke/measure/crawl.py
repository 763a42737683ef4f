"""The durable crawl: every page's result committed with its task, guard, robots and budgets on."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from fyke.core.clock import monotonic
from fyke.core.job import ENDED, JobOptions
from fyke.jobs.submit import JobRequest
from fyke.measure import pages
from fyke.measure.common import cpu_seconds, peak_mb, place
from fyke.measure.site import serving
from fyke.settings import Settings
from fyke.store.jobs import Job, create_job, get_job
from fyke.store.migrate import migrate
from fyke.wiring import Engine, load_policies, open_base

__all__ = ["CrawlLoad", "measure_crawl"]


class CrawlLoad(Struct, frozen=True):
    """What to crawl: a file of URLs, or else `pages` pages of a server that is started for it. An empty
    database URL means SQLite in a temporary directory."""

    url_list: Path | None = None
    pages: int = 20_000
    database_url: str = ""
    concurrency: int = 64
    out: Path | None = None


async def measure_crawl(settings: Settings, load: CrawlLoad) -> dict[str, Any]:
    """Crawl the list, and say how fast that was; `out` gets the full and seo exports as JSON lines."""
    with place() as folder, _listed(load, folder) as urls:
        settings = settings.model_copy(
            update={
                "data_dir": folder,
                "database_url": load.database_url,
                "objects_dir": "",
                "concurrency": load.concurrency,
                "egress_allow": [*settings.egress_allow, "127.0.0.0/8"],
            }
        )
        policies = load_policies(settings).overlaid(0.0, 0)
        await migrate(settings.store_url)
        engine = Engine(await open_base(settings, policies))
        await engine.start()
        try:
            return await _measure(engine, load, urls)
        finally:
            await engine.stop()


@contextmanager
def _listed(load: CrawlLoad, folder: Path) -> Iterator[Path]:
    """The file of URLs, while they are served."""
    if load.url_list is not None:
        yield load.url_list
        return
    with serving() as base:
        path = folder / "urls.txt"
        with path.open("w") as file:
            file.writelines(f"{pages.url(base, place)}\n" for place in range(load.pages))
        yield path


async def _measure(engine: Engine, load: CrawlLoad, urls: Path) -> dict[str, Any]:
    options = JobOptions(
        max_urls=0, max_concurrency=0, traffic_budget_mb=1_000_000, time_limit_s=3600, exports=()
    )
    base = engine.base
    cpu, began = cpu_seconds(), monotonic()
    prepared = await base.submit(JobRequest(options=options, file=urls))
    identity = await base.database.write(lambda conn: create_job(conn, prepared))
    base.queue.wake()
    job = await _ended(engine, identity)
    seconds = monotonic() - began
    worked = cpu_seconds() - cpu
    if load.out is not None:
        await _bring_out(engine, identity, load.out)
    done = job.succeeded + job.failed + job.skipped
    return {
        "database": base.database.name,
        "pages": done,
        "succeeded": job.succeeded,
        "failed": job.failed,
        "state": job.state,
        "seconds": round(seconds, 3),
        "pages_per_second": round(done / seconds, 1),
        "cpu_us_per_page": round(worked / max(1, done) * 1e6, 1),
        "megabytes": round(job.bytes / 1e6, 1),
        "concurrency": load.concurrency,
        "synchronous": base.settings.sqlite_synchronous if base.settings.embedded else "server's",
        "worst_loop_lag_ms": round(engine.metrics.lag_worst * 1e3, 1),
        "max_rss_mb": peak_mb(),
    }


async def _ended(engine: Engine, identity: int) -> Job:
    while True:
        job = await engine.base.database.read(lambda conn: get_job(conn, identity))
        if job.state in ENDED:
            return job
        await asyncio.sleep(0.05)


async def _bring_out(engine: Engine, identity: int, out: Path) -> None:
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    for kind in ("full", "seo"):
        export = await engine.base.export(identity, kind, "jsonl")
        with (out / f"{kind}.jsonl").open("wb") as file:
            async for piece in await engine.base.objects.open(export.object):
                file.write(piece)
