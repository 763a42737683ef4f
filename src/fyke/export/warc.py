"""WARC: the bodies of a job's pages as they were kept, in the order of its list.

Each record is a gzip member of its own, so records are copied from their segments as they are. Pages
whose body was not kept have none here.
"""

from collections.abc import Sequence
from typing import BinaryIO

from fyke.export.rows import PageRecord
from fyke.objects.protocol import ObjectNotFound, Readable
from fyke.objects.segments import Place
from fyke.objects.warc import info_record

__all__ = ["WarcWriter"]

NAME = "full.warc.gz"  # the export's, whatever it is saved as


class WarcWriter:
    """Records into a binary file. `rows` counts them, `missing` those whose segment is gone."""

    def __init__(self, file: BinaryIO, objects: Readable) -> None:
        self.rows = 0
        self.missing = 0
        self._file = file
        self._objects = objects
        self._started = False

    async def add(self, batch: Sequence[PageRecord]) -> None:
        if batch and not self._started:
            self._start(batch[0][3])
        for place, records in _runs(batch):
            try:
                async for chunk in await self._objects.open(place.key, place.offset, place.length):
                    self._file.write(chunk)
                self.rows += records
            except ObjectNotFound:
                self.missing += records

    def close(self) -> None:
        if not self._started:
            self._start(0)

    def _start(self, at: int) -> None:
        """The date is the first page's, so that the same pages make the same file."""
        self._file.write(info_record(NAME, at))
        self._started = True


def _runs(batch: Sequence[PageRecord]) -> list[tuple[Place, int]]:
    """Where the records of the pages lie, neighbours as one place, and how many each place holds."""
    runs: list[tuple[Place, int]] = []
    for *_, key, offset, length in (record[:13] for record in batch):
        if key is None:
            continue
        last, records = runs[-1] if runs else (None, 0)
        if last is not None and last.key == key and last.offset + last.length == offset:
            runs[-1] = Place(key, last.offset, last.length + length), records + 1
        else:
            runs.append((Place(key, offset, length), 1))
    return runs
