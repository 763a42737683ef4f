"""Parquet, where pyarrow is installed: text as strings, times as UTC timestamps in µs, prices as decimals
with ten places (more are rounded, a number of more than 28 digits before them is left out and counted).
Rows are gathered into groups large enough to be worth compressing."""

from collections.abc import Callable
from decimal import Context, Decimal
from importlib import import_module
from typing import Any, BinaryIO, Final

from fyke.core.errors import Invalid
from fyke.core.extras import PYARROW, how_to_install
from fyke.export.rows import Cells, Column, Columns, Shape

__all__ = ["ParquetWriter"]

GROUP: Final = 20_000
DIGITS: Final = Context(prec=38)
PLACES: Final = Decimal("1e-10")
LIMIT: Final = Decimal(10) ** 28  # leaves ten of the digits for places


class ParquetWriter:
    """Rows into a binary file."""

    def __init__(self, file: BinaryIO, columns: tuple[Column, ...]) -> None:
        self.cut = 0
        self._columns = columns
        self._arrow, parquet = _pyarrow()
        self._schema = self._arrow.schema(
            [self._arrow.field(column.name, self._type(column)) for column in columns]
        )
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = 0

    def add(self, columns: Columns) -> None:
        arrays = [
            self._arrow.array(self._values(column, cells), type=field.type)
            for column, cells, field in zip(self._columns, columns, self._schema, strict=True)
        ]
        self._waiting.append(self._arrow.record_batch(arrays, schema=self._schema))
        self._rows += len(columns[0])
        if self._rows >= GROUP:
            self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_batches(self._waiting, self._schema), self._rows)
        self._waiting, self._rows = [], 0

    def _values(self, column: Column, cells: Cells) -> Cells:
        if column.shape is not Shape.NUMBER:
            return cells
        numbers = [None if cell is None else _decimal(cell) for cell in cells]
        self.cut += numbers.count(None) - cells.count(None)
        return numbers

    def _type(self, column: Column) -> Any:
        types: dict[Shape, Callable[[], Any]] = {
            Shape.TEXT: self._arrow.string,
            Shape.INTEGER: self._arrow.int32,
            Shape.NUMBER: lambda: self._arrow.decimal128(38, 10),
            Shape.TIME: lambda: self._arrow.timestamp("us", tz="UTC"),
        }
        return types[column.shape]()


def _pyarrow() -> tuple[Any, Any]:
    """Loaded when it is first needed: it is optional, and heavy."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise Invalid(
            f"parquet needs pyarrow, which is not installed: {how_to_install(PYARROW)}", field="format"
        ) from error


def _decimal(text: str) -> Decimal | None:
    number = Decimal(text)
    return number.quantize(PLACES, context=DIGITS) if abs(number) < LIMIT else None
