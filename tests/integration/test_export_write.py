"""Exports as files."""

import csv
import errno
import os
from collections.abc import AsyncIterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no types

from fyke.core.errors import DiskFull, Invalid, UnknownName
from fyke.core.job import EXPORT_FORMATS
from fyke.core.page import Page
from fyke.export import csvfile
from fyke.export.rows import PageRecord
from fyke.export.write import MEDIA_TYPES, SUFFIXES, WRITERS, Written, write
from fyke.objects.local import LocalObjects
from fyke.objects.segments import SegmentOptions, SegmentWriter
from tests.unit.export_cases import AT, FULL, ROWS, page, written


async def batches(*parts: Sequence[Any]) -> AsyncIterator[Sequence[Any]]:
    for part in parts:
        yield part


@pytest.mark.parametrize("format", sorted(WRITERS))
@pytest.mark.parametrize("kind", ["full", "seo", "diff"])
async def test_what_the_writers_write(tmp_path: Path, kind: str, format: str) -> None:
    path = tmp_path / "export"
    rows = ROWS[kind]
    result = await write(kind, format, batches(rows[:1], [], rows[1:]), path)
    data = path.read_bytes()
    # where batches end shows in how a zip or parquet file is cut up, not in what it holds
    assert data == written(kind, format, rows[:1], [], rows[1:])
    assert result == Written({"full": 3, "seo": 1, "diff": 2}[kind], len(data))


async def test_plain_tuples_will_do(tmp_path: Path) -> None:
    path = tmp_path / "export"
    await write("full", "csv", batches([tuple(record) for record in FULL]), path)
    assert path.read_bytes() == written("full", "csv", FULL)
    await write("full", "csv", batches([(*record, "more") for record in FULL]), path)
    assert path.read_bytes() == written("full", "csv", FULL)


async def test_names_are_checked(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'full'"):
        await write("ful", "csv", batches(), tmp_path / "export")
    with pytest.raises(UnknownName, match="did you mean 'xlsx'"):
        await write("full", "xls", batches(), tmp_path / "export")
    with pytest.raises(Invalid, match="only a full export"):
        await write("seo", "warc", batches(), tmp_path / "export")
    with pytest.raises(Invalid, match="object store"):
        await write("full", "warc", batches(), tmp_path / "export")
    assert os.listdir(tmp_path) == []


def test_every_format_has_a_type_and_a_suffix() -> None:
    assert set(MEDIA_TYPES) == set(SUFFIXES) == set(EXPORT_FORMATS)
    assert set(WRITERS) == set(EXPORT_FORMATS) - {"warc"}


async def test_a_failing_read_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[Sequence[PageRecord]]:
        yield FULL
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="gone"):
        await write("full", "xlsx", broken(), tmp_path / "export")
    assert os.listdir(tmp_path) == []


async def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, columns: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(csvfile.CsvWriter, "add", full)
    with pytest.raises(DiskFull):
        await write("full", "csv", batches(FULL), tmp_path / "export")
    assert os.listdir(tmp_path) == []


async def test_many_rows_stream(tmp_path: Path) -> None:
    async def pages() -> AsyncIterator[Sequence[PageRecord]]:
        for start in range(0, 20_000, 1000):
            yield [page(f"https://shop.example/{number}") for number in range(start, start + 1000)]

    path = tmp_path / "export"
    assert (await write("full", "csv", pages(), path)).rows == 20_000
    with path.open(newline="") as file:
        urls = [row["url"] for row in csv.DictReader(file)]
    assert urls == [f"https://shop.example/{number}" for number in range(20_000)]
    await write("full", "xlsx", pages(), path)
    assert ZipFile(path).read("xl/worksheets/sheet1.xml").count(b"<row>") == 20_001


async def test_warc(tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "objects")
    writer = SegmentWriter(objects, tmp_path / "open", SegmentOptions(max_bytes=700))
    records = [page("https://shop.example/none")]
    for number in range(9):
        url = f"https://shop.example/{number}"
        body = f"<p>{number}</p>".encode()
        place = await writer.append(Page(url, url, 200, (), body, 9, AT + number, 0.0))
        records.append(
            page(url)._replace(body_object=place.key, body_offset=place.offset, body_length=place.length)
        )
    await writer.close()
    assert len({record.body_object for record in records}) > 2
    gone = page("https://shop.example/gone")._replace(body_object="bodies/gone", body_length=9)

    path = tmp_path / "export"
    wanted = [records[0], gone, *records[4:], *records[1:4]]
    result = await write("full", "warc", batches(wanted[:4], wanted[4:]), path, objects)
    data = path.read_bytes()
    assert result == Written(9, len(data), missing=1)
    info, *pages = [
        (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
        for record in ArchiveIterator(BytesIO(data))
    ]
    assert info[0] == "warcinfo"
    (first, *_) = ArchiveIterator(BytesIO(data))
    assert first.rec_headers.get_header("WARC-Filename") == "full.warc.gz"
    order = [3, 4, 5, 6, 7, 8, 0, 1, 2]
    assert pages == [
        ("response", f"https://shop.example/{number}", f"<p>{number}</p>".encode()) for number in order
    ]
    await write("full", "warc", batches(wanted), path, objects)
    assert path.read_bytes() == data


async def test_warc_without_bodies(tmp_path: Path) -> None:
    path = tmp_path / "export"
    objects = LocalObjects(tmp_path / "objects")
    assert (await write("full", "warc", batches(), path, objects)).rows == 0
    assert [record.rec_type for record in ArchiveIterator(BytesIO(path.read_bytes()))] == ["warcinfo"]
