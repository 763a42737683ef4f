"""Memory of the whole server, API included, in this process: idle, and at most while a large job runs.

The job is real but for its pages: its sitemaps are fetched from a server on loopback and planned, each URL
is a task that is claimed and settled with a page's rows, the snapshots are compared, the exports made. Only
the pages themselves are neither fetched nor read: every task comes out with the same made-up page, or it
would take a quarter of an hour. `fyke bench crawl --pages N` fetches and reads them all.
"""

import asyncio
from typing import Any

import msgspec
from msgspec import Struct

from fyke.core import clock
from fyke.core.errors import FykeError
from fyke.core.handler import Context
from fyke.core.job import ENDED
from fyke.core.outcome import Compare, Outcome, Verdict
from fyke.core.task import JobInfo, Kind, Task
from fyke.measure import site
from fyke.measure.common import cpu_seconds, peak_mb, place, resident_mb
from fyke.measure.rows import page_rows
from fyke.measure.server import Caller, Serve, serving
from fyke.settings import Settings

__all__ = ["MemoryLoad", "measure_memory"]

SETTLED = 5.0  # seconds after which an idle server counts as idle
LONGEST = 1800.0  # seconds that the job may take
FORMATS = ("csv",)


class MemoryLoad(Struct, frozen=True):
    """How large a job. An empty database URL means SQLite in a temporary directory."""

    database_url: str = ""
    urls: int = 1_000_000


async def measure_memory(settings: Settings, serve: Serve, load: MemoryLoad) -> dict[str, Any]:
    """Start a server, let it idle, give it the job, and say what memory it had."""
    with place() as folder, site.serving() as base:
        async with serving(settings, serve, folder, load.database_url) as caller:
            await asyncio.sleep(SETTLED)
            idle, idle_peak = resident_mb(), peak_mb()
            found = await _job(caller, site.sitemap(base, load.urls), load.urls)
            return {
                "database": caller.server.engine.base.database.name,
                "idle_rss_mb": idle,
                "start_max_rss_mb": idle_peak,
                "job_max_rss_mb": peak_mb(),
                "after_rss_mb": resident_mb(),
                **found,
                "pages_fetched": False,
            }


async def _job(caller: Caller, sitemap: str, urls: int) -> dict[str, Any]:
    caller.worker({Kind.PAGE: _made_up})
    options = {"max_urls": urls, "max_concurrency": 0, "traffic_budget_mb": 0, "exports": FORMATS}
    cpu, began = cpu_seconds(), clock.monotonic()
    body = msgspec.json.encode({"sitemap_url": sitemap, "options": options})
    job = await _call(caller, "POST", "/api/v1/jobs", body)
    async with asyncio.timeout(LONGEST):
        while job["state"] not in ENDED:
            await asyncio.sleep(0.5)
            job = await _call(caller, "GET", f"/api/v1/jobs/{job['id']}")
    seconds = clock.monotonic() - began
    return {
        "urls": job["total"],
        "succeeded": job["succeeded"],
        "state": job["state"],
        "exports": [f"{kind}.{format}" for format in FORMATS for kind in ("full", "seo", "diff")],
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds() - cpu, 1),
    }


async def _call(caller: Caller, method: str, path: str, body: bytes = b"") -> Any:
    status, answer = await caller.call(method, path, body)
    if status not in (200, 201):
        raise FykeError(f"the API answered {status}: {answer[:300]!r}")
    return msgspec.json.decode(answer)["data"]


async def _made_up(task: Task, job: JobInfo, context: Context) -> Outcome:
    """What the page handler gives back of a page that arrived."""
    now = clock.now()
    row = msgspec.structs.replace(PAGE, seq=task.seq, url=task.url, final_url=task.url, fetched_at=now)
    data = row.data_full or b"{}"
    seen = Compare(task.seq, task.url, "127.0.0.1", "product", now, row.content_hash, row.title, row.h1, data)
    return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED, (row, seen), row.bytes_in)


PAGE = next(page_rows(1))
