"""`fyke bench` as people call it: small loads, one object each, nothing left running."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Bench = Callable[..., Any]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    async def run(*words: str) -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "fyke", "bench", *words, "--json"),
            cwd=tmp_path,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(90):
                output, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, errors.decode()
        found: dict[str, Any] = json.loads(output)
        return found

    return run


async def test_the_queue_with_few_and_with_many_pending(bench: Bench) -> None:
    found = await bench("queue", "--tasks", "2000", "--pending", "15000", "--concurrency", "50")
    assert found["tasks"] >= 2000
    assert found["tasks_per_second"] > 0
    assert found["claims"] >= 20
    assert found["claim_p50_ms"] <= found["claim_p99_ms"]
    ratio = found["claim_p99_ms"] / found["claim_p99_ms_10000_pending"]
    assert found["claim_p99_ratio"] == pytest.approx(ratio, abs=0.01)


async def test_a_crawl_brings_its_own_pages(bench: Bench, tmp_path: Path) -> None:
    found = await bench("crawl", "--pages", "450", "--out", str(tmp_path / "out"))
    assert (found["pages"], found["succeeded"], found["failed"]) == (450, 450, 0)
    assert found["pages_per_second"] > 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "full.jsonl").read_bytes().splitlines()]
    assert len(rows) == 450
    assert all(row["price"] and row["sku"] and row["breadcrumbs"] for row in rows)
    assert len({row["sku"] for row in rows}) == 200  # that many different pages, told apart by the query


async def test_latency_of_the_queue_and_through_the_api(bench: Bench, postgres_url: str) -> None:
    found = await bench("latency", "--samples", "5", "--database", postgres_url)
    for way in ("queue", "api"):
        assert 0 < found[f"{way}_p50_ms"] <= found[f"{way}_p99_ms"]


async def test_exports_each_in_a_process_of_its_own(bench: Bench, database_url: str) -> None:
    found = await bench("exports", "--rows", "2500", "--rounds", "1", "--database", database_url)
    for format in ("csv", "jsonl", "xlsx"):
        assert found[f"{format}_seconds"] > 0
        assert 20 < found[f"{format}_max_rss_mb"] < 500
    assert found["jsonl_megabytes"] > found["csv_megabytes"] > found["xlsx_megabytes"] > 0


async def test_memory_of_a_job_from_sitemaps(bench: Bench) -> None:
    found = await bench("memory", "--urls", "1200")
    assert (found["urls"], found["succeeded"], found["state"]) == (1200, 1200, "succeeded")
    assert 20 < found["idle_rss_mb"] <= found["job_max_rss_mb"] < 500
