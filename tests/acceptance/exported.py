"""What a crawl has left in its directory."""

import csv
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["rows", "without_times"]

TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8-sig") as opened:
        return list(csv.DictReader(opened))


def without_times(directory: Path) -> dict[str, bytes]:
    """The bytes of every file, and of every part of a workbook, times blotted out."""
    return {name: TIME.sub(b"TIME", data) for name, data in _parts(directory)}


def _parts(directory: Path) -> Iterable[tuple[str, bytes]]:
    for file in sorted(directory.iterdir()):
        if file.suffix == ".xlsx":
            with zipfile.ZipFile(file) as workbook:
                for name in workbook.namelist():
                    yield f"{file.name}/{name}", workbook.read(name)
        else:
            yield file.name, file.read_bytes()
