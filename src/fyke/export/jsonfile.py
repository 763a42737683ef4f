"""JSON, as one array with a row a line, and JSON Lines. Numbers are numbers, what is missing is null,
times and joined lists are the same text as in CSV."""

from typing import Any, BinaryIO

from msgspec import Raw, defstruct, json

from fyke.export.rows import Cells, Column, Columns, Shape, texts

__all__ = ["JsonLinesWriter", "JsonWriter"]


class JsonLinesWriter:
    """Rows into a binary file, an object a line."""

    def __init__(self, file: BinaryIO, columns: tuple[Column, ...]) -> None:
        self.cut = 0
        self._file = file
        self._columns = columns
        self._row = defstruct("Row", [(column.name, Any) for column in columns], frozen=True, gc=False)
        self._encode = json.Encoder().encode_lines

    def add(self, columns: Columns) -> None:
        self._file.write(self._lines(columns))

    def close(self) -> None:
        """A JSON Lines file ends with its last row."""

    def _lines(self, columns: Columns) -> bytes:
        cells = [_json(column, values) for column, values in zip(self._columns, columns, strict=True)]
        return self._encode(list(map(self._row, *cells)))


class JsonWriter(JsonLinesWriter):
    """Rows into a binary file, as one array."""

    def __init__(self, file: BinaryIO, columns: tuple[Column, ...]) -> None:
        super().__init__(file, columns)
        self._before = b"[\n"

    def add(self, columns: Columns) -> None:
        lines = self._lines(columns)
        if lines:  # within a row a line break is written as \n, so these only end rows
            self._file.write(self._before + lines[:-1].replace(b"\n", b",\n"))
            self._before = b",\n"

    def close(self) -> None:
        self._file.write(b"[]\n" if self._before == b"[\n" else b"\n]\n")


def _json(column: Column, values: Cells) -> Cells:
    match column.shape:
        case Shape.NUMBER:
            return [None if value is None else Raw(value.encode()) for value in values]
        case Shape.TIME:
            return [text or None for text in texts(column, values)]
        case _:
            return values
