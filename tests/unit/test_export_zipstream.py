"""A zip that anybody reads."""

from io import BytesIO
from typing import IO, cast
from zipfile import ZipFile

import pytest

from fyke.export import zipstream
from fyke.export.zipstream import ZipStream

CONTENT = {"a.txt": b"", "dir/ä.txt": b"hello" * 1000, "c": bytes(range(256)) * 500}


def archive() -> bytes:
    file = BytesIO()
    stream = ZipStream(file)
    for name, body in CONTENT.items():
        stream.start(name)
        for start in range(0, len(body), 999):
            stream.write(body[start : start + 999])
    stream.finish()
    return file.getvalue()


def test_a_reader_sees_the_entries() -> None:
    read = ZipFile(BytesIO(archive()))
    assert read.testzip() is None
    assert {name: read.read(name) for name in read.namelist()} == CONTENT
    assert {info.date_time for info in read.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_same_content_same_bytes() -> None:
    assert archive() == archive()


@pytest.mark.parametrize("far", [zipstream.MAX_32, zipstream.MAX_32 - 1, (4 << 30) + 123])
def test_offsets_beyond_four_gigabytes(far: int) -> None:
    file = BytesIO()
    stream = ZipStream(file)
    stream._at = far  # as if that much had been written before
    stream.start("a")
    stream.write(b"hello")
    stream.finish()
    data = file.getvalue()
    assert data.find(b"PK\6\6") >= 0
    read = ZipFile(cast(IO[bytes], Shifted(data, far)))
    assert read.read("a") == b"hello"


class Shifted:
    """A file that starts with `skip` bytes of nothing."""

    def __init__(self, data: bytes, skip: int) -> None:
        self._data, self._skip, self._at = data, skip, 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._skip + len(self._data))[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        start = self._at - self._skip
        assert start >= 0
        data = self._data[start:] if size < 0 else self._data[start : start + size]
        self._at += len(data)
        return data
