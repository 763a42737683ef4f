"""Page bodies, appended to segments: WARC files of many records, so that a body costs no file.

A worker has one open segment, a local file that it holds a lock on. At a size or an age it is closed and
handed to the object store; a page's row says where in it its record lies. A worker that dies leaves
whole records and perhaps the start of one: `recover` cuts that off and hands the rest over.
"""

import fcntl
import os
from asyncio import to_thread
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct

from fyke.core import clock
from fyke.core.ids import new_id, public
from fyke.core.page import Page
from fyke.objects.local import full_disk
from fyke.objects.protocol import CHUNK, ObjectStore, Readable
from fyke.objects.warc import info_record, page_record, read_page, whole_records

__all__ = ["Place", "SegmentOptions", "SegmentWriter", "open_segment", "read_body", "recover"]

SLASH: Final = "~"  # in the names of open segments, which are their keys; no key has one
ABANDONED: Final = 3600 * clock.SECOND
INLINE: Final = 250_000
"""Bodies of fewer bytes are compressed at once, within some 0.7 ms. Handing over costs 0.3 ms, and leaves the
event loop waiting for about one, whatever the size; 30 MB would take 64. Writing what became of them to the
open file takes 1.3 (none of it is synced here), and stays where records cannot overtake each other."""


class Place(Struct, frozen=True, gc=False):
    """Where a record lies."""

    key: str
    offset: int
    length: int


class SegmentOptions(Struct, frozen=True):
    """When a segment is closed, and how hard it is compressed (0 to 3). `prefix` starts its key, the
    day comes next."""

    prefix: str = "bodies"
    max_bytes: int = 64 << 20
    max_age: float = 300.0
    level: int = 1


def _path(directory: Path, key: str) -> Path:
    return directory / key.replace("/", SLASH)


def open_segment(directory: Path, key: str) -> BinaryIO | None:
    """A segment that has not been handed over, to be read; None when there is none."""
    try:
        return _path(directory, key).open("rb")
    except FileNotFoundError:
        return None


class _Segment:
    """An open file under a lock, and how much of it is written."""

    def __init__(self, directory: Path, key: str) -> None:
        self.key = key
        self.path = _path(directory, key)
        self.opened = clock.monotonic()
        self.size = 0
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def write(self, record: bytes) -> int:
        """Append a record whole, or not at all as far as the segment's size is concerned."""
        offset = self.size
        with full_disk():
            done = 0
            while done < len(record):
                done += os.pwrite(self._file, record[done:], offset + done)
        self.size += done
        return offset

    def cut(self) -> None:
        """Drop what a failed write left behind the last record."""
        os.ftruncate(self._file, self.size)

    def close(self) -> None:
        os.close(self._file)


class SegmentWriter:
    """Appends pages; made for one event loop, safe under any number of its tasks."""

    def __init__(self, objects: ObjectStore, directory: Path, options: SegmentOptions | None = None) -> None:
        self._objects = objects
        self._directory = directory
        self._options = options or SegmentOptions()
        self._open: _Segment | None = None

    async def append(self, page: Page) -> Place:
        """Keep the page. It can be read at once, by any process (see bodies), and survives the death of this
        one; that of the machine, once its segment is handed over."""
        level = self._options.level
        large = len(page.body) >= INLINE
        record = await to_thread(page_record, page, level) if large else page_record(page, level)
        await self.turn()
        segment = self._open
        if segment is None:
            segment = self._open = self._new()
        return Place(segment.key, segment.write(record), len(record))

    async def turn(self) -> None:
        """Hand the segment over if it is due."""
        segment = self._open
        if segment is not None and (
            segment.size >= self._options.max_bytes
            or clock.monotonic() - segment.opened >= self._options.max_age
        ):
            await self.close()

    async def close(self) -> None:
        """Hand the segment over, if there is one; the next page opens another."""
        segment, self._open = self._open, None
        if segment is None:
            return
        try:
            await to_thread(segment.cut)
            await self._objects.put_file(segment.key, segment.path)
        finally:  # what could not be handed over waits for `recover`
            segment.close()

    def _new(self) -> _Segment:
        with full_disk():
            self._directory.mkdir(parents=True, exist_ok=True)
            day = clock.iso(clock.now())[:10].replace("-", "/")
            name = f"{public(new_id())}.warc.gz"
            segment = _Segment(self._directory, f"{self._options.prefix}/{day}/{name}")
        segment.write(info_record(name, clock.now()))
        return segment


async def read_body(objects: Readable, place: Place) -> Page:
    """The page that was appended there."""
    chunks = [chunk async for chunk in await objects.open(place.key, place.offset, place.length)]
    return await to_thread(read_page, b"".join(chunks))


async def recover(objects: ObjectStore, directory: Path) -> int:
    """Hand over the segments in `directory` whose writers are dead; how many there were."""
    count = 0
    for path in await to_thread(lambda: sorted(directory.glob("*.warc.gz"))):
        file = await to_thread(_take, path)
        if file is not None:
            try:
                if await to_thread(_whole, path):
                    await objects.put_file(path.name.replace(SLASH, "/"), path)
                    count += 1
            finally:
                os.close(file)
    return count


def _take(path: Path) -> int | None:
    """The lock on a segment, unless its writer lives or has just made it."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:  # handed over a moment ago
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        state = os.fstat(file)
        if state.st_nlink and (state.st_size or state.st_mtime_ns // 1000 < clock.now() - ABANDONED):
            return file
    except BlockingIOError:
        pass
    os.close(file)
    return None


def _whole(path: Path) -> bool:
    """Cut off a record that was not written whole; remove the segment if nothing is left."""
    with path.open("rb") as file:
        size = whole_records(iter(partial(file.read, CHUNK), b""))
    if size:
        os.truncate(path, size)
    else:
        path.unlink()
    return size > 0
