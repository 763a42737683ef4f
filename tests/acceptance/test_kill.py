"""A crawl that is killed or told to stop, and the same command again."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.command import FAST, Fyke
from tests.acceptance.exported import without_times
from tests.acceptance.looks import ask, leased
from tests.integration.jobs.site import Reply, Site, sitemap_of

PAGES = 150


def when_asked(web: Site, path: str, act: object) -> None:
    """Call `act` at the moment a page is asked for, before it is answered."""
    page = web.pages[path]
    assert isinstance(page, Reply)
    page.after = act  # type: ignore[assignment]


@pytest.mark.parametrize("kind", ["sitemap", "list"])
async def test_killed_twice_it_ends_as_if_nothing_had_been(
    fyke: Fyke, web: Site, tmp_path: Path, kind: str
) -> None:
    paths = web.products(PAGES)
    del web.pages[paths[100]]
    source = web.url("/sitemap.xml") if kind == "sitemap" else str(tmp_path / "urls.txt")
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    (tmp_path / "urls.txt").write_text("\n".join(web.urls(paths)))

    quiet = await fyke.crawl(source, tmp_path / "quiet", FYKE_DATA_DIR=tmp_path / "elsewhere")
    assert quiet.code == 4
    assert {web.hits[path] for path in paths} == {1}
    web.hits.clear()

    held: set[object] = set()
    for number in (40, 110):
        running = await fyke.start("crawl", source, "--out", tmp_path / "killed", *FAST)
        when_asked(web, paths[number], running.kill)
        assert (await running.ended()).code == -signal.SIGKILL
        when_asked(web, paths[number], None)
        assert web.hits[paths[-1]] == 0, "it was in the middle"
        held |= leased(fyke.data / "fyke.db")
    done = await fyke.crawl(source, tmp_path / "killed")
    assert done.code == 4
    assert "Going on with a crawl of" in done.err

    assert without_times(tmp_path / "killed") == without_times(tmp_path / "quiet")
    twice = {web.url(path) for path in paths if web.hits[path] > 1}
    assert twice <= held, "only what was under a lease at a death is fetched again"
    assert all(1 <= web.hits[path] <= 3 for path in paths)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_told_to_stop_it_finishes_what_it_has_begun(
    fyke: Fyke, web: Site, tmp_path: Path, number: signal.Signals
) -> None:
    paths = web.products(PAGES)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    source = web.url("/sitemap.xml")
    running = await fyke.start("crawl", source, "--out", tmp_path / "out", *FAST)
    when_asked(web, paths[40], lambda: running.send(number))
    for later in paths[41:50]:  # those that are in flight, or are asked for all the same
        when_asked(web, later, lambda: running.send(signal.SIGTERM))
    done = await running.ended()
    assert done.code == 130
    pages = ask(fyke.data / "fyke.db", "SELECT succeeded FROM jobs")[0][0]
    assert done.out.startswith(f"interrupted: {pages} pages, ")
    assert "Run the same command to go on." in done.out
    assert web.hits[paths[-1]] == 0, "it was in the middle"
    assert leased(fyke.data / "fyke.db") == set()

    done = await fyke.crawl(source, tmp_path / "out", "--json")
    assert (done.code, done.json["succeeded"]) == (0, PAGES)
    assert {web.hits[path] for path in paths} == {1}


async def killed_in_the_middle(fyke: Fyke, web: Site, source: str, out: Path, *options: str) -> None:
    page = f"/p/{PAGES // 3}"
    running = await fyke.start("crawl", source, "--out", out, *FAST, *options)
    when_asked(web, page, running.kill)
    assert (await running.ended()).code == -signal.SIGKILL
    when_asked(web, page, None)


async def test_a_long_list_that_was_edited_in_between_is_noticed(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    urls = web.urls(web.products(600))
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(urls))
    await killed_in_the_middle(fyke, web, str(listed), tmp_path / "out")
    for text, said in (
        (["# as before", *urls], []),
        ([*urls[:-1], web.url("/p/x")], [f"{listed} has changed"]),
    ):
        listed.write_text("\n".join(text))
        running = await fyke.start("crawl", listed, "--out", tmp_path / "out", *FAST)
        when_asked(web, "/p/300", running.kill)
        when_asked(web, "/p/500", running.kill)
        done = await running.ended()
        assert [line.partition(" since")[0] for line in done.err.splitlines() if " since " in line] == said
        when_asked(web, "/p/300", None)


async def test_what_the_second_command_asks_for_holds(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(web.urls(web.products(PAGES))))
    await killed_in_the_middle(fyke, web, str(listed), tmp_path / "out", "--max-mb", "50")
    with closing(sqlite3.connect(fyke.data / "fyke.db")) as raw, raw:
        raw.execute(
            "UPDATE jobs SET started_at = started_at - 1000000000, created_at = created_at - 1000000000"
        )

    done = await fyke.crawl(listed, tmp_path / "out", "--max-urls", "15")
    assert (done.code, done.out) == (2, "")
    assert f"15 is too low, {PAGES} URLs are planned already" in done.err.splitlines()[-1]
    listed.write_text(listed.read_text() + web.url("/p/other"))
    done = await fyke.crawl(listed, tmp_path / "out", "--format", "jsonl", "--max-urls", "200")
    assert done.code == 0
    assert done.err.splitlines() == [
        f"Going on with a crawl of {listed} that was interrupted.",
        "--max-urls is 200 from here on; it was 10000.",
        "--format is jsonl from here on; it was csv,xlsx,json.",
        f"{listed} has changed since then: going on with the list as it was."
        " The next crawl of it takes the list as it is.",
    ]
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "diff.jsonl", "full.jsonl", "seo.jsonl",
    ]  # fmt: skip
    seconds = float(done.out.partition("; ")[2].partition(" s")[0])
    assert seconds < 900, "the time between the two is not counted"
    (job,) = (await fyke.run("jobs", "list", "--json")).json
    assert (job["options"]["traffic_budget_mb"], job["options"]["max_urls"]) == (50, 200)


async def test_a_larger_budget_holds_for_a_crawl_that_was_killed(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    paths = web.products(PAGES)
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(web.urls(paths)))
    running = await fyke.start("crawl", str(listed), "--out", tmp_path / "out", "--max-urls", "60", *FAST)
    when_asked(web, paths[30], running.kill)
    assert (await running.ended()).code == -signal.SIGKILL
    when_asked(web, paths[30], None)
    done = await fyke.crawl(listed, tmp_path / "out", "--max-urls", "100", "--json")
    assert (done.code, done.json["succeeded"], done.json["close_reason"]) == (5, 100, "max_urls")
    done = await fyke.crawl(listed, tmp_path / "out", "--max-urls", "0", "--json")
    assert (done.code, done.json["succeeded"]) == (0, PAGES)


async def test_other_jobs_of_the_data_directory_are_not_a_surprise(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    one, two = web.urls(web.products(2))
    for url in (one, two):
        assert (await fyke.run("jobs", "create", url)).code == 0
    done = await fyke.crawl(two, tmp_path / "out", "--format", "csv")
    assert done.code == 0
    begun, *_, others = done.err.splitlines()
    assert begun == f"Beginning with a crawl of {two} that was asked for before."
    assert others.startswith("1 other job has not ended in this data directory: this command works on")


async def test_a_data_directory_in_use_is_left_alone(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(PAGES)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    server, _ = await fyke.serve()
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out")
    assert done.code == 1
    assert f"{fyke.data} is in use by fyke serve (pid {server.pid})" in done.line
    assert web.hits.total() == 0
