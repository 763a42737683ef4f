"""Jobs that export warc keep the responses: whoever fetched them, and whatever died meanwhile."""

import asyncio
import os
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from httpx import AsyncClient
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no types

from fyke.core import clock
from fyke.core.page import Page
from fyke.objects.bodies import DAY, KeptBodies
from fyke.objects.local import LocalObjects
from fyke.objects.protocol import ObjectNotFound
from fyke.objects.segments import Place
from fyke.shop import Shop
from tests.integration.test_objects_segments import read_body

URLS = 40
LONGEST = 60


def page(number: int) -> Page:
    url = f"https://shop.example/{number}"
    body = f"page {number}".encode()
    return Page(url, url, 200, (("content-type", "text/html"),), body, len(body), clock.now(), 0.0)


def kept(directory: Path) -> tuple[LocalObjects, KeptBodies]:
    objects = LocalObjects(directory / "objects")
    return objects, KeptBodies(objects, directory / "objects" / ".segments")


async def read(bodies: KeptBodies, place: Place) -> bytes:
    return b"".join([chunk async for chunk in await bodies.open(place.key, place.offset, place.length)])


async def test_a_body_is_read_while_its_segment_is_open_elsewhere_and_after(tmp_path: Path) -> None:
    objects, writing = kept(tmp_path)
    _, reading = kept(tmp_path)
    places = [await writing.writer.append(page(number)) for number in range(3)]
    with pytest.raises(ObjectNotFound):
        await objects.open(places[1].key)
    open_still = [await read(reading, place) for place in places]
    await writing.stop()
    await writing.stop()
    assert [await read(reading, place) for place in places] == open_still
    assert (await read_body(objects, places[1])).body == b"page 1"
    with pytest.raises(ObjectNotFound):
        await reading.open("bodies/2026/01/01/none.warc.gz")


async def test_what_a_dead_writer_left_is_handed_over_by_the_next_start(tmp_path: Path) -> None:
    objects, dead = kept(tmp_path)
    place = await dead.writer.append(page(1))
    segment = dead.writer._open
    assert segment is not None
    segment.close()  # as the system does when a process dies
    _, fresh = kept(tmp_path)
    await fresh.start()
    assert (await read_body(objects, place)).body == b"page 1"


async def test_bodies_are_deleted_by_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects, bodies = kept(tmp_path)
    now = clock.now()
    keys = {}
    for age in (0, 9, 10, 11, 12, 40, 100, 500, 1200):
        monkeypatch.setattr(clock, "now", lambda age=age: now - age * DAY)
        keys[age] = (await bodies.writer.append(page(age))).key
        await bodies.writer.close()
    monkeypatch.setattr(clock, "now", lambda: now)
    assert await bodies.forget(10) == 6
    left = []
    for age, key in keys.items():
        try:
            await objects.size(key)
        except ObjectNotFound:
            continue
        left.append(age)
    assert left == [0, 9, 10]


# --- whole crawls ---


@pytest.fixture
async def urls(tmp_path: Path) -> AsyncIterator[list[str]]:
    """Pages of the shop that come at once; they stand in a file, too."""
    shop = Shop(products=URLS)
    address = await shop.start()
    slow = {*shop.troubles.slow, *shop.troubles.failing_first}
    listed = [address + item.path for item in shop.items if not item.gone and item.path not in slow]
    (tmp_path / "urls.txt").write_text("\n".join(listed))
    yield listed
    await shop.stop()


def environment(directory: Path) -> dict[str, str]:
    ours = {"FYKE_DATA_DIR": str(directory / "data"), "FYKE_EGRESS_ALLOW": "127.0.0.0/8", "FYKE_PORT": "0"}
    return {name: text for name, text in os.environ.items() if not name.startswith("FYKE_")} | ours


async def start(directory: Path, *arguments: object, **settings: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fyke", *map(str, arguments)),
        env=environment(directory) | settings,
        cwd=directory,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
    )


async def finished(process: Process) -> Any:
    async with asyncio.timeout(LONGEST):
        out, _ = await process.communicate()
    return msgspec.json.decode(out)


async def pages_done(database: Path, least: int) -> None:
    async with asyncio.timeout(LONGEST):
        while count_pages(database) < least:  # noqa: ASYNC110 - another process writes them
            await asyncio.sleep(0.02)


def count_pages(database: Path) -> int:
    if not database.exists():
        return 0
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as raw:
        try:
            return int(raw.execute("SELECT count(*) FROM pages").fetchone()[0])
        except sqlite3.OperationalError:  # no tables yet
            return 0


def recorded(file: Path) -> Mapping[str, int]:
    """The addresses of the responses in a WARC file, with their sizes, in order."""
    with file.open("rb") as raw:
        return {
            record.rec_headers.get_header("WARC-Target-URI"): len(record.content_stream().read())
            for record in ArchiveIterator(raw)
            if record.rec_type == "response"
        }


def crawled(directory: Path) -> list[str]:
    rows = [msgspec.json.decode(line) for line in (directory / "out/full.jsonl").read_bytes().splitlines()]
    return [row["final_url"] for row in rows if row["text_hash"] is not None]


CRAWL = ("crawl", "urls.txt", "--format", "jsonl,warc", "--delay", "0.02", "--json")


async def test_every_page_of_a_crawl_that_was_killed_is_in_its_warc_export(
    tmp_path: Path, urls: list[str]
) -> None:
    process = await start(tmp_path, *CRAWL)
    await pages_done(tmp_path / "data/fyke.db", 8)
    process.kill()
    await process.communicate()
    summary = await finished(await start(tmp_path, *CRAWL))
    assert summary["succeeded"] == len(urls) > URLS / 2
    found = recorded(tmp_path / "out/full.warc.gz")
    assert list(found) == crawled(tmp_path)
    assert min(found.values()) > 500


async def test_pages_that_worker_processes_fetched_are_in_it(tmp_path: Path, urls: list[str]) -> None:
    policies = tmp_path / "policies.yaml"
    policies.write_text("default: {delay: 0, concurrency: 4}\n")
    server = await start(tmp_path, "serve", "--workers", "2", "--json", FYKE_POLICIES=str(policies))
    try:
        assert server.stdout is not None
        async with asyncio.timeout(LONGEST):
            address = msgspec.json.decode(await server.stdout.readline())["address"]
        token = (tmp_path / "data/admin.key").read_text().strip()
        async with AsyncClient(
            base_url=f"{address}/api/v1", headers={"x-api-key": token}, timeout=LONGEST
        ) as api:
            asked = {"urls": urls, "options": {"exports": ["warc"], "max_concurrency": 8}}
            job = (await api.post("/jobs", json=asked)).json()["data"]["id"]
            assert "event: complete" in (await api.get(f"/jobs/{job}/stream")).text
            (made,) = (await api.get(f"/jobs/{job}/exports")).json()["data"]
            file = tmp_path / made["filename"]
            file.write_bytes((await api.get(f"/exports/{made['id']}/download")).content)
        assert list(recorded(file)) == urls
        assert made["row_count"] == len(urls)
    finally:
        server.terminate()
        async with asyncio.timeout(LONGEST):
            await server.communicate()
