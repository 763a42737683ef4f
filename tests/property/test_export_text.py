"""Whatever text a page holds, every format gives it back, and no spreadsheet runs it."""

import csv
import json
import re
from decimal import Decimal
from io import BytesIO, StringIO
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openpyxl import load_workbook
from openpyxl.utils.escape import unescape

from fyke.core.record import Product, Seo
from fyke.export.inert import inert, restore
from fyke.export.rows import PageRecord
from tests.unit.export_cases import page, written

CHARACTERS = st.characters(exclude_categories=["Cs"])
ODD = st.sampled_from([*"=+-@'\";,|&<>\t\r\n \x00\x1f\\_x＝", "SUM(", "cmd|'/c'!A0", "A1", "_x000D_", "]]>"])
TEXT = st.lists(st.one_of(CHARACTERS, ODD), max_size=12).map("".join)
PRICES = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9)


# A busy machine makes single examples slow, so there is no deadline.
TABLES = settings(max_examples=40, deadline=None)
TEXTS = settings(max_examples=300, deadline=None)


@st.composite
def pages(draw: st.DrawFn) -> PageRecord:
    product = Product(
        price=draw(st.none() | PRICES),
        sku=draw(st.none() | TEXT),
        brand=draw(st.none() | TEXT),
        breadcrumbs=tuple(draw(st.lists(TEXT, max_size=3))),
        images=tuple(draw(st.lists(TEXT, max_size=3))),
        attrs=draw(st.dictionaries(TEXT, TEXT | st.integers(-(2**53), 2**53) | st.booleans(), max_size=3)),
    )
    seo = Seo(og_title=draw(st.none() | TEXT), images_alt=tuple(draw(st.lists(TEXT, max_size=3))))
    return page(title=draw(st.none() | TEXT), h1=draw(st.none() | TEXT), data=product, seo=seo)


def expected(record: PageRecord) -> dict[str, str]:
    data = json.loads(record.data_full or b"{}", parse_float=Decimal)
    return {
        "title": record.title or "",
        "h1": record.h1 or "",
        "price": str(data.get("price", "")),
        "sku": data.get("sku") or "",
        "brand": data.get("brand") or "",
        "breadcrumbs": " > ".join(data.get("breadcrumbs", [])),
    }


@TABLES
@given(st.lists(pages(), min_size=1, max_size=4))
def test_csv_gives_every_text_back(records: list[PageRecord]) -> None:
    text = written("full", "csv", records).decode()
    rows = list(csv.DictReader(StringIO(text, newline="")))
    assert [{name: restore(row[name]) for name in expected(records[0])} for row in rows] == [
        expected(record) for record in records
    ]
    for row, record in zip(rows, records, strict=True):
        attrs = json.loads(record.data_full or b"{}").get("attrs")
        assert (json.loads(restore(row["attrs_json"])) if row["attrs_json"] else None) == attrs


@TABLES
@given(st.lists(pages(), min_size=1, max_size=4))
def test_json_gives_every_text_back(records: list[PageRecord]) -> None:
    rows = json.loads(written("full", "json", records), parse_float=Decimal)
    seen = [
        {name: "" if row[name] is None else str(row[name]) for name in expected(records[0])} for row in rows
    ]
    assert seen == [expected(record) for record in records]
    lines = [json.loads(line, parse_float=Decimal) for line in written("full", "jsonl", records).splitlines()]
    assert lines == rows


@TABLES
@given(st.lists(pages(), min_size=1, max_size=4))
def test_xlsx_gives_every_text_back(records: list[PageRecord]) -> None:
    data = written("full", "xlsx", records)
    sheet = ZipFile(BytesIO(data)).read("xl/worksheets/sheet1.xml")
    ElementTree.fromstring(sheet)
    assert b"<f" not in sheet
    book = load_workbook(BytesIO(data))
    header, *rows = book.worksheets[0].iter_rows()
    names = [str(cell.value) for cell in header]
    for row, record in zip(rows, records, strict=True):
        cells = dict(zip(names, row, strict=True))
        assert {cell.data_type for cell in row} <= {"n", "s", "inlineStr"}
        for name, text in expected(record).items():
            if name == "price":
                assert cells[name].value == (float(text) if text else None)
            else:
                assert unescape(str(cells[name].value or "")) == text


@TABLES
@given(st.lists(pages(), min_size=1, max_size=4))
def test_parquet_gives_every_text_back(records: list[PageRecord]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(BytesIO(written("full", "parquet", records))).to_pylist()
    for row, record in zip(rows, records, strict=True):
        for name, text in expected(record).items():
            if name == "price":
                assert row[name] == (Decimal(text) if text else None)
            else:
                assert (row[name] or "") == text


@TABLES
@given(st.lists(pages(), min_size=1, max_size=6), st.integers(0, 6), st.sampled_from(["full", "seo"]))
def test_batches_do_not_show(records: list[PageRecord], cut: int, kind: str) -> None:
    for format in ("csv", "json", "jsonl"):
        assert written(kind, format, records[:cut], records[cut:]) == written(kind, format, records)


@TEXTS
@given(TEXT)
@example("\t=1")
@example(";'\"=1")
@example("'\x00=1;\t'@A1")
def test_marks_can_be_taken_back(text: str) -> None:
    assert restore(inert(text)) == text
    assert restore(text) == text or "'" in text


FORMULA = re.compile(
    r"""[\s\x00-\x1f]*(?:[=＝]|[+\-@＋－＠][\s+@-]*[\w"'($\[{.#\\].*?(?:[A-Za-z][0-9]*\(|\|.*!|'!))""",
    re.DOTALL,
)


@TEXTS
@given(st.lists(TEXT, min_size=1, max_size=4).map("".join))
@example("@SUM(1+1)*cmd|' /C calc'!A0")
def test_no_cell_of_csv_is_a_formula(text: str) -> None:
    record = page(title=text, h1=text, data=Product(brand=text, breadcrumbs=(text,), images=(text,)))
    table = csv.reader(StringIO(written("full", "csv", [record]).decode(), newline=""))
    for row in table:
        for cell in row:
            assert not FORMULA.match(cell)


@TEXTS
@given(st.lists(TEXT, min_size=1, max_size=4).map("".join))
def test_no_cell_is_one_where_semicolons_separate(text: str) -> None:
    """As Excel reads the file in half of Europe: quotes within a field mean nothing, lines end rows. A
    formula cannot have a quote right after something complete."""
    data = written("full", "csv", [page(title=text, h1=text)]).decode()
    for cell in re.split("[;\r\n]", data):
        formula = FORMULA.match(cell.lstrip(' "'))
        assert not formula or re.match(r'[^"]*[\w.?!%)\]}][\s\x00-\x1f]*"', cell.lstrip(' "'))


LEGITIMATE = st.one_of(
    PRICES.map(str),
    PRICES.map(lambda price: f"{price:+} EUR"),
    st.from_regex(r"\+[1-9][0-9]{1,2} [0-9]{2,4} [0-9]{3,6}", fullmatch=True),
    st.from_regex(r"@[a-z_]{4,12}", fullmatch=True),
    st.from_regex(r"- [a-z]{2,9}( [a-z]{2,9}){0,5}[.!?]?", fullmatch=True),
    st.from_regex(r"-{1,20}|\+{1,3}", fullmatch=True),
    st.from_regex(r"https://[a-z]{1,9}\.example/[a-z0-9/?&=;.-]{0,20}", fullmatch=True).filter(
        lambda url: not re.search("[;][=-]", url)
    ),
)


@TEXTS
@given(LEGITIMATE)
def test_legitimate_values_stay_as_they_are(text: str) -> None:
    assert inert(text) == text
