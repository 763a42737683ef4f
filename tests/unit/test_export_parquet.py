"""Parquet, as pyarrow reads it."""

import sys
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO

import pytest

from fyke.core.errors import Invalid
from fyke.core.extras import PYARROW
from fyke.core.record import Product
from fyke.export import parquet as module
from fyke.export.parquet import ParquetWriter
from fyke.export.rows import COLUMNS, READ
from tests.unit.export_cases import DIFF, FULL, ROWS, page, written

parquet = pytest.importorskip("pyarrow.parquet")


def test_a_reader_sees_the_rows() -> None:
    table = parquet.read_table(BytesIO(written("full", "parquet", FULL)))
    assert table.column_names == [column.name for column in COLUMNS["full"]]
    first, second, third = table.to_pylist()
    assert first["price"] == Decimal("1299.90")
    assert first["http_status"] == 200
    assert first["fetched_at"] == datetime(2026, 3, 1, 9, 30, 0, 125_000, UTC)
    assert first["breadcrumbs"] == "Home > Tables"
    assert second["title"] is None
    assert third["http_status"] == 403


@pytest.mark.parametrize("kind", ["full", "seo", "diff"])
def test_every_kind_and_no_rows(kind: str) -> None:
    assert parquet.read_table(BytesIO(written(kind, "parquet", ROWS[kind]))).num_rows > 0
    empty = parquet.read_table(BytesIO(written(kind, "parquet")))
    assert empty.num_rows == 0
    assert empty.column_names == [column.name for column in COLUMNS[kind]]


def test_same_rows_same_bytes() -> None:
    assert written("diff", "parquet", DIFF) == written("diff", "parquet", DIFF)


def test_batches_are_gathered_into_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP", 4)
    pages = [page(f"https://shop.example/{number}") for number in range(10)]
    data = written("full", "parquet", *([one] for one in pages))
    file = parquet.ParquetFile(BytesIO(data))
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [4, 4, 2]
    assert file.read().column("url").to_pylist() == [one.url for one in pages]


def test_prices_of_any_size() -> None:
    prices = [Decimal("0.1234567891"), Decimal("9" * 27 + ".5"), Decimal("1" + "0" * 28)]
    file = BytesIO()
    writer = ParquetWriter(file, COLUMNS["full"])
    writer.add(READ["full"]([page(data=Product(price=price)) for price in prices]))
    writer.close()
    assert parquet.read_table(file).column("price").to_pylist() == [*prices[:2], None]
    assert writer.cut == 1


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Invalid, match=f" -m pip install '{PYARROW}'"):
        written("full", "parquet", FULL)
