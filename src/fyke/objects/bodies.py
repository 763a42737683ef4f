"""Kept bodies: written to this process's segment, read wherever their segment is, deleted by the day.

Segments that are still open lie in one directory beside the objects, which every process on the object store
sees. What a page's row names was written before the row was, so a body can be read at once, be its segment
open in another process, left by a dead one, or handed over.
"""

from asyncio import to_thread
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from fyke.core import clock
from fyke.objects.protocol import CHUNK, ObjectNotFound, ObjectStore
from fyke.objects.segments import SegmentOptions, SegmentWriter, open_segment, recover

__all__ = ["KeptBodies"]

DAY: Final = 86_400 * clock.SECOND


class KeptBodies:
    """`writer` appends pages; `open` reads what any process has appended."""

    def __init__(self, objects: ObjectStore, directory: Path, options: SegmentOptions | None = None) -> None:
        self._objects = objects
        self._directory = directory
        self._prefix = (options or SegmentOptions()).prefix
        self.writer = SegmentWriter(objects, directory, options)

    async def start(self) -> None:
        await recover(self._objects, self._directory)

    async def stop(self) -> None:
        """Hand the segment over. Twice is safe."""
        await self.writer.close()

    async def open(self, key: str, offset: int = 0, length: int | None = None) -> AsyncGenerator[bytes, None]:
        try:
            return await self._objects.open(key, offset, length)
        except ObjectNotFound:
            file = await to_thread(open_segment, self._directory, key)
        if file is None:  # gone, or handed over a moment ago
            return await self._objects.open(key, offset, length)
        return _read(file, offset, length)

    async def forget(self, keep: float) -> int:
        """Delete the bodies of days that ended more than `keep` days ago; how many segments those were."""
        last = clock.iso(clock.now() - int((keep + 1) * DAY))[:10]
        return await self._forget_until(f"{self._prefix}/", last.split("-"))

    async def _forget_until(self, prefix: str, last: Sequence[str]) -> int:
        """Delete the years before the last one, of that the months before the last one, of that the days."""
        count = 0
        for name in await self._objects.names(prefix):
            below = f"{prefix}{name}/"
            if name < last[0] or [name] == last:
                count += await self._objects.delete_prefix(below)
            elif name == last[0]:
                count += await self._forget_until(below, last[1:])
        return count


async def _read(file: BinaryIO, offset: int, length: int | None) -> AsyncGenerator[bytes, None]:
    left = length
    with file:
        file.seek(offset)
        while left is None or left > 0:
            chunk = await to_thread(file.read, CHUNK if left is None else min(CHUNK, left))
            if not chunk:
                return
            left = None if left is None else left - len(chunk)
            yield chunk
