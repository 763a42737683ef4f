"""`fyke demo`: two crawls of a shop that changes, whatever happens in between."""

import asyncio
import re
import signal
from pathlib import Path
from urllib.request import urlopen

from tests.acceptance.command import LONGEST, Fyke, Running
from tests.acceptance.exported import rows
from tests.acceptance.looks import ask

LOOK = 0.02
CHANGES = {"ADDED": 3, "REMOVED": 2, "MODIFIED": 35}  # of one price round in the shop


async def test_once_as_one_object(fyke: Fyke) -> None:
    done = await fyke.run("demo", "--once", "--json")
    assert done.code == 0
    found = done.json
    assert [crawl["state"] for crawl in found["crawls"]] == ["partial", "partial"]
    assert all(crawl["succeeded"] > 300 for crawl in found["crawls"])
    assert {kind: found["changes"][kind] for kind in CHANGES} == CHANGES
    for number in (1, 2):
        out = fyke.data / "demo" / "out" / f"crawl-{number}"
        crawl = found["crawls"][number - 1]
        assert len(rows(out / "full.csv")) == crawl["succeeded"] + crawl["failed"]
    assert len(rows(out / "diff.csv")) == sum(found["changes"].values())


async def test_killed_in_both_crawls_it_goes_on_and_stays_open(fyke: Fyke) -> None:
    database = fyke.data / "demo" / "fyke.db"
    demo = await fyke.start("demo")
    shop = await _shop(demo)
    for crawl in (1, 2):
        await demo.says(f"Crawl {crawl} of 2")
        await _under_way(database, crawl)
        demo.kill()
        assert (await demo.ended()).code == -signal.SIGKILL
        demo = await fyke.start("demo")
        assert await _shop(demo) == shop
    await demo.says("What the second crawl noticed: 3 added, 35 modified, 2 removed")
    address = (await demo.says("The API is open: ")).split()[4].removesuffix("/reference.")
    assert await asyncio.to_thread(_status, f"{address}/health") == 200
    assert ask(database, "SELECT count(*) FROM jobs") == [(2,)]
    said = await demo.says("export FYKE_DATA_DIR=")
    place = said.partition("=")[2]
    listed = await fyke.run("jobs", "list", "--json", FYKE_DATA_DIR=place)
    assert len(listed.json) == 2

    other = await fyke.run("demo", "--once", FYKE_DATA_DIR=place)
    assert other.code == 1
    assert f"{place} is in use by fyke demo" in other.line
    demo.send(signal.SIGTERM)
    assert (await demo.ended()).code == 0


async def test_interrupted_it_says_how_to_go_on(fyke: Fyke) -> None:
    demo = await fyke.start("demo", "--once")
    await _until_crawling(demo, fyke.data / "demo" / "fyke.db")
    demo.send(signal.SIGINT)
    done = await demo.ended()
    assert done.code == 130
    assert re.fullmatch(r"Interrupted: `\S*fyke demo` goes on from here.", done.out.splitlines()[-1])


async def _shop(demo: Running) -> str:
    """Its address."""
    return (await demo.says("A shop with ")).split()[-1]


async def _until_crawling(demo: Running, database: Path) -> None:
    await demo.says("Crawl 1 of 2")
    await _under_way(database, 1)


async def _under_way(database: Path, crawl: int) -> None:
    """Wait until the newest of so many jobs has some of its pages."""
    async with asyncio.timeout(LONGEST):
        while True:
            jobs = ask(database, "SELECT state, succeeded FROM jobs ORDER BY id")
            if len(jobs) == crawl and jobs[-1][0] == "running" and int(str(jobs[-1][1])) > 40:
                return
            await asyncio.sleep(LOOK)


def _status(url: str) -> int:
    with urlopen(url, timeout=20) as answer:
        return int(answer.status)
