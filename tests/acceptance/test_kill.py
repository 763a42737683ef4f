"""A crawl that is killed or told to stop, and the same command again."""

import signal
from pathlib import Path

import pytest

from tests.acceptance.command import FAST, Fyke
from tests.acceptance.exported import without_times
from tests.acceptance.looks import leased
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
    assert done.out.startswith("interrupted: ")
    assert "Run the same command to go on." in done.out
    assert web.hits[paths[-1]] == 0, "it was in the middle"
    assert leased(fyke.data / "fyke.db") == set()

    done = await fyke.crawl(source, tmp_path / "out", "--json")
    assert (done.code, done.json["succeeded"]) == (0, PAGES)
    assert {web.hits[path] for path in paths} == {1}


async def test_a_data_directory_in_use_is_left_alone(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(PAGES)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    server, _ = await fyke.serve()
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out")
    assert done.code == 1
    assert f"{fyke.data} is in use by fyke serve (pid {server.pid})" in done.line
    assert web.hits.total() == 0
