"""A disk that fills up: the crawl stops, says so, and goes on once there is room."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.command import Fyke
from tests.acceptance.exported import rows
from tests.integration.jobs.site import Reply, Site, sitemap_of

PAGES = 300
SMALL, LARGE = "3m", "64m"


def _mount(*arguments: object) -> bool:
    command = [shutil.which("mount") or "mount", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(fyke: Fyke) -> Iterator[Path]:
    """A small disk of its own under the data directory."""
    fyke.data.mkdir()
    if not _mount("-t", "tmpfs", "-o", f"size={SMALL}", "fyke-small", fyke.data):
        pytest.skip("wanted: the right to mount a small disk")
    try:
        yield fyke.data
    finally:
        subprocess.run([shutil.which("umount") or "umount", "-l", fyke.data], check=True)


async def test_a_full_disk_stops_the_crawl_and_room_lets_it_go_on(
    fyke: Fyke, web: Site, tmp_path: Path, disk: Path
) -> None:
    paths = web.products(PAGES)
    for path in paths:
        page = web.pages[path]
        assert isinstance(page, Reply)
        page.body += f'<meta name="description" content="{path * 4000}">'.encode()
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", "--format", "csv")
    assert done.code == 1
    assert "the disk is full: free some space and run the same command again; nothing is lost" in done.err
    fetched = {path for path in paths if web.hits[path]}
    assert 0 < len(fetched) < PAGES

    assert _mount("-o", f"remount,size={LARGE}", disk)
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", "--format", "csv")
    assert done.code == 0
    assert "Going on with a crawl of" in done.err
    assert [row["url"] for row in rows(tmp_path / "out" / "full.csv")] == list(web.urls(paths))
