"""The disk is full, and then it is not: nothing is lost, and what was under way goes on."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.rig import Rig, rigged
from tests.chaos.size import Size, sizes

MEGABYTES = 160  # SQLite's log alone may take 64 before it begins anew

SHORT = Size(pages=400, blows=1)


class Disk:
    """A small file system, and a ballast that takes all that is free on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"
        self.url = f"sqlite:///{folder}/fyke.db"

    def fill(self) -> None:
        """To the last byte."""
        with self.ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while file.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        self.ballast.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "fyke-test", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small file system can be mounted by root alone")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=30)


async def part_done(rig: Rig, size: Size, number: int) -> None:
    """Wait until there is so much to lose."""
    after = (number + 1) * size.pages // (size.blows + 2)
    await rig.site.until(lambda: rig.site.distinct() > after)


@sizes(SHORT, Size(pages=3_000, blows=1))
async def test_a_server_goes_on_by_itself(tmp_path: Path, disk: Disk, size: Size) -> None:
    """It says that it cannot write, holds what it has, and writes it when it can. Once is all there is to
    see: after that the log has room of its own."""
    async with rigged(tmp_path, disk.url, size, data_dir=disk.folder) as rig:
        server = await rig.serve(workers=1)
        job = await rig.submit()
        for number in range(size.blows):
            await part_done(rig, size, number)
            said = len(server.lines)
            disk.fill()
            line = await server.until(lambda line: "cannot_settle" in line, since=said)
            assert "disk is full" in line
            rig.kills += 1
            disk.free()
            await server.until(lambda line: "settling_again" in line, since=said)
        await rig.finish(job, size.seconds)
        (await rig.tally("disk full, server", job)).check(size.lease)


@sizes(SHORT, Size(pages=3_000, blows=5))
async def test_a_crawl_says_so_and_can_be_resumed(tmp_path: Path, disk: Disk, size: Size) -> None:
    async with rigged(tmp_path, disk.url, size, data_dir=disk.folder) as rig:
        (tmp_path / "urls.txt").write_text("\n".join(rig.site.urls))
        command = ("crawl", "urls.txt", "--concurrency", "8", "--delay", "0", "--json")
        for number in range(size.blows):
            crawl = await rig.run(*command)
            await part_done(rig, size, number)
            disk.fill()
            assert await crawl.ended() == 1, crawl.said()
            assert "the disk is full: free some space" in crawl.said()
            rig.kills += 1
            disk.free()
        crawl = await rig.run(*command)
        assert await crawl.ended(240) == 0, crawl.said()
        job = await rig.value("SELECT max(id) FROM jobs")
        (await rig.tally("disk full, crawl", job)).check(size.lease)
