"""Bodies in segments: appended, handed over, read back, saved from a crash."""

import asyncio
import os
import signal
import sys
import threading
from io import BytesIO
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no types

from fyke.core import clock
from fyke.core.errors import DiskFull, Invalid
from fyke.core.page import Page
from fyke.objects import segments
from fyke.objects.local import LocalObjects
from fyke.objects.protocol import ObjectNotFound
from fyke.objects.segments import Place, SegmentOptions, SegmentWriter, recover
from fyke.objects.warc import page_record, read_page

AT = clock.from_iso("2026-03-01T09:30:00Z")


def page(number: int, size: int = 1000) -> Page:
    url = f"https://shop.example/{number}"
    body = bytes(f"{number}:", "ascii") + os.urandom(size)
    return Page(url, url, 200, (("content-type", "text/html"),), body, size, AT + number, 0.0)


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path / "objects")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "open" / "segments"


async def read_body(objects: LocalObjects, place: Place) -> Page:
    """The page that was appended there."""
    chunks = [chunk async for chunk in await objects.open(place.key, place.offset, place.length)]
    return read_page(b"".join(chunks))


async def bodies(objects: LocalObjects, key: str) -> list[bytes]:
    data = b"".join([chunk async for chunk in await objects.open(key)])
    records = ArchiveIterator(BytesIO(data))
    return [record.content_stream().read() for record in records if record.rec_type == "response"]


@pytest.mark.parametrize("level", [0, 1])
async def test_what_was_appended_is_read_back(objects: LocalObjects, scratch: Path, level: int) -> None:
    writer = SegmentWriter(objects, scratch, SegmentOptions(level=level))
    pages = [page(number) for number in range(5)]
    places = [await writer.append(one) for one in pages]
    assert len({place.key for place in places}) == 1
    with pytest.raises(ObjectNotFound):
        await read_body(objects, places[0])
    await writer.close()
    await writer.close()
    for one, place in zip(pages, places, strict=True):
        read = await read_body(objects, place)
        assert (read.url, read.body, read.fetched_at) == (one.url, one.body, one.fetched_at)
    assert await bodies(objects, places[0].key) == [one.body for one in pages]
    assert os.listdir(scratch) == []
    assert places[0].key.startswith("bodies/20")
    with pytest.raises(Invalid):
        await read_body(objects, Place(places[0].key, places[1].offset + 1, places[1].length))


async def test_a_segment_is_closed_at_its_size(objects: LocalObjects, scratch: Path) -> None:
    writer = SegmentWriter(objects, scratch, SegmentOptions(max_bytes=3000))
    places = [await writer.append(page(number)) for number in range(7)]
    assert len(os.listdir(scratch)) == 1
    await writer.close()
    keys = list(dict.fromkeys(place.key for place in places))
    assert [len(await bodies(objects, key)) for key in keys] == [3, 3, 1]


async def test_a_segment_is_closed_at_its_age(objects: LocalObjects, scratch: Path) -> None:
    writer = SegmentWriter(objects, scratch, SegmentOptions(max_age=0))
    place = await writer.append(page(1))
    await writer.turn()
    assert len(await bodies(objects, place.key)) == 1
    young = SegmentWriter(objects, scratch, SegmentOptions(max_age=3600))
    place = await young.append(page(1))
    await young.turn()
    assert len(os.listdir(scratch)) == 1
    await young.close()


async def test_many_tasks_append_at_once(objects: LocalObjects, scratch: Path) -> None:
    writer = SegmentWriter(objects, scratch, SegmentOptions(max_bytes=5000))
    pages = [page(number) for number in range(60)]
    places = await asyncio.gather(*map(writer.append, pages))
    await writer.close()
    read = [(await read_body(objects, place)).body for place in places]
    assert read == [one.body for one in pages]


async def test_large_bodies_are_compressed_beside_the_event_loop(
    objects: LocalObjects, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[tuple[int, bool]] = []

    def watched(one: Page, level: int) -> bytes:
        threads.append((len(one.body), threading.current_thread() is threading.main_thread()))
        return page_record(one, level)

    monkeypatch.setattr(segments, "page_record", watched)
    writer = SegmentWriter(objects, scratch)
    pages = [page(number, size) for number, size in enumerate((1_000, 300_000, 2_000, 400_000))]
    places = await asyncio.gather(*map(writer.append, pages))
    await writer.close()
    assert [(await read_body(objects, place)).body for place in places] == [one.body for one in pages]
    assert sorted(threads) == [(1_002, True), (2_002, True), (300_002, False), (400_002, False)]


async def test_a_full_disk_breaks_no_record(
    objects: LocalObjects, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SegmentWriter(objects, scratch)
    first = await writer.append(page(1))
    write = os.pwrite

    def half(file: int, data: bytes, offset: int) -> int:
        write(file, data[: len(data) // 2], offset)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(DiskFull):
            await writer.append(page(2))
    third = await writer.append(page(3, size=10))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", half)
        with pytest.raises(DiskFull):
            await writer.append(page(4))
    await writer.close()
    assert [body[:2] for body in await bodies(objects, first.key)] == [b"1:", b"3:"]
    assert (await read_body(objects, third)).body[:2] == b"3:"


async def test_what_cannot_be_handed_over_waits(
    objects: LocalObjects, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = SegmentWriter(objects, scratch)
    place = await writer.append(page(1))

    async def refuse(key: str, path: Path) -> None:
        raise DiskFull

    with monkeypatch.context() as patch:
        patch.setattr(objects, "put_file", refuse)
        with pytest.raises(DiskFull):
            await writer.close()
    assert await recover(objects, scratch) == 1
    assert (await read_body(objects, place)).body[:2] == b"1:"


CHILD = """
import asyncio, sys
from pathlib import Path
from fyke.objects.local import LocalObjects
from fyke.objects.segments import SegmentWriter
sys.path.insert(0, sys.argv[2])
from tests.integration.test_objects_segments import page

async def main():
    root = Path(sys.argv[1])
    writer = SegmentWriter(LocalObjects(root / "objects"), root / "open" / "segments")
    for number in range(1000000):
        place = await writer.append(page(number, 100_000))
        print(place.key, place.offset, place.length, flush=True)

asyncio.run(main())
"""


async def test_a_killed_worker_loses_nothing_it_had_told(
    objects: LocalObjects, scratch: Path, tmp_path: Path
) -> None:
    root = Path(__file__).parents[2]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, str(tmp_path), str(root), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    told = [await child.stdout.readline() for _ in range(50)]
    assert await recover(objects, scratch) == 0  # its writer lives
    child.send_signal(signal.SIGKILL)
    await child.wait()
    told += [line for line in (await child.stdout.read()).splitlines(True) if line.endswith(b"\n")]
    (segment,) = scratch.iterdir()  # noqa: ASYNC240 - a directory with one file
    with segment.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00torn")
    assert await recover(objects, scratch) == 1
    assert await recover(objects, scratch) == 0
    for number, line in enumerate(told):
        key, offset, length = line.decode().split()
        assert (await read_body(objects, Place(key, int(offset), int(length)))).url.endswith(f"/{number}")
    assert len(await bodies(objects, key)) >= len(told)


async def test_recover_with_nothing_there(objects: LocalObjects, scratch: Path) -> None:
    assert await recover(objects, scratch) == 0


async def test_recover_leaves_no_empty_segment(objects: LocalObjects, scratch: Path) -> None:
    os.makedirs(scratch)
    for name, age in (("new", None), ("old", 0)):
        path = scratch / f"bodies~{name}.warc.gz"
        path.write_bytes(b"")
        if age is not None:
            os.utime(path, (age, age))
    (scratch / "bodies~torn.warc.gz").write_bytes(b"\x1f\x8b\x08\x00")
    assert await recover(objects, scratch) == 0
    assert os.listdir(scratch) == ["bodies~new.warc.gz"]
