"""XLSX: what is in the zip, and what a reader sees."""

from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from openpyxl import load_workbook
from openpyxl.cell.cell import TYPE_INLINE, TYPE_NUMERIC, TYPE_STRING
from openpyxl.utils.escape import unescape

from fyke.core.record import Product
from fyke.export import xlsx
from fyke.export.rows import COLUMNS, READ
from fyke.export.xlsx import CELL_LIMIT, XlsxWriter
from tests.unit.export_cases import FULL, ROWS, page, written

HEADER_CELL = '<c s="1" t="inlineStr"><is><t>{}</t></is></c>'


def rows(data: bytes, sheet: int = 0) -> list[tuple[object, ...]]:
    book = load_workbook(BytesIO(data))
    return [tuple(cell.value for cell in row) for row in book.worksheets[sheet].iter_rows()]


def test_sheet_bytes() -> None:
    sheet = ZipFile(BytesIO(written("diff", "xlsx", ROWS["diff"]))).read("xl/worksheets/sheet1.xml").decode()
    header = "".join(HEADER_CELL.format(column.name) for column in COLUMNS["diff"])
    text = '<c t="inlineStr"><is><t>{}</t></is></c>'.format
    assert sheet == (
        f"{xlsx.SHEET_START}<row>{header}</row><row>"
        + text("https://shop.example/p/1")
        + "<c/>"
        + text("2026-03-01T09:30:00.125Z")
        + text("ADDED")
        + "<c/><c/>"
        + '<c s="2"><v>19.90</v></c><c/><c/><c/>'
        + text("Lamp")
        + "</row><row>"
        + text("https://shop.example/p/2")
        + text("2026-03-01T09:29:59.125Z")
        + text("2026-03-01T09:30:00.125Z")
        + text("MODIFIED")
        + text("price;title")
        + '<c s="2"><v>10.00</v></c><c s="2"><v>9.50</v></c>'
        + text("InStock")
        + text("OutOfStock")
        + text("Lamp")
        + text("=Lamp")
        + "</row></sheetData></worksheet>"
    )


def test_a_reader_sees_the_rows() -> None:
    header, first, second, third = rows(written("full", "xlsx", FULL))
    assert header == tuple(column.name for column in COLUMNS["full"])
    assert first[:9] == (
        "https://shop.example/p/1",
        "https://shop.example/p/1?v=1",
        200,
        "2026-03-01T09:30:00.125Z",
        "Oak table",
        "Oak table, large",
        1299.9,
        "EUR",
        "InStock",
    )
    assert first[10] == 'Nord "Licht" & <Söhne>'
    assert second[4] is None
    assert third[2] == 403


def test_formulas_are_text() -> None:
    title = '=HYPERLINK("https://evil.example/","x")'
    book = load_workbook(BytesIO(written("full", "xlsx", [page(title=title, data=Product(sku="-5.00"))])))
    sheet = book.worksheets[0]
    assert sheet["E2"].value == title
    assert sheet["E2"].data_type in (TYPE_INLINE, TYPE_STRING)
    assert sheet["J2"].value == "-5.00"
    assert sheet["J2"].data_type in (TYPE_INLINE, TYPE_STRING)
    assert sheet["C2"].data_type == TYPE_NUMERIC


@pytest.mark.parametrize(
    "title",
    [
        "bell \x07, nul \x00",
        "line\r\nend\rs",
        " spaces ",
        "tab\t",
        "_x0041_",
        "\uffff\ufffe",
        "𝄞 & <b>",
        "\x1f",
        "a\nb",
    ],
)
def test_awkward_characters(title: str) -> None:
    data = written("full", "xlsx", [page(), page(title=title), page()])
    ElementTree.fromstring(ZipFile(BytesIO(data)).read("xl/worksheets/sheet1.xml"))
    assert unescape(str(rows(data)[2][4])) == title


def test_every_part_is_xml_and_referred_to() -> None:
    archive = ZipFile(BytesIO(written("seo", "xlsx", ROWS["seo"])))
    assert archive.testzip() is None
    for name in archive.namelist():
        ElementTree.fromstring(archive.read(name))
    types = archive.read("[Content_Types].xml").decode()
    named = [name for name in archive.namelist() if name.startswith("xl/") and "rels" not in name]
    assert all(f'"/{name}"' in types for name in named)


def test_same_rows_same_bytes() -> None:
    assert written("full", "xlsx", FULL) == written("full", "xlsx", FULL)
    assert {info.date_time for info in ZipFile(BytesIO(written("full", "xlsx", FULL))).infolist()} == {
        (1980, 1, 1, 0, 0, 0)
    }


def test_long_cells_are_cut_and_counted() -> None:
    file = BytesIO()
    writer = XlsxWriter(file, COLUMNS["full"])
    titles = [
        "x" * CELL_LIMIT,
        "x" * (CELL_LIMIT + 1),
        "𝄞" * (CELL_LIMIT // 2),
        "x" + "𝄞" * (CELL_LIMIT // 2 + 1),
    ]
    writer.add(READ["full"]([page(title=title) for title in titles]))
    writer.close()
    seen = [str(row[4]) for row in rows(file.getvalue())[1:]]
    assert seen == [titles[0], titles[0], titles[2], titles[3][:-1]]
    assert writer.cut == 2


def test_rows_go_on_on_a_further_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "SHEET_ROWS", 3)
    pages = [page(f"https://shop.example/{number}") for number in range(8)]
    data = written("full", "xlsx", pages[:2], pages[2:7], pages[7:])
    assert load_workbook(BytesIO(data)).sheetnames == ["Sheet", "Sheet 2", "Sheet 3"]
    sheets = [rows(data, number) for number in range(3)]
    assert [len(sheet) for sheet in sheets] == [4, 4, 3]
    assert all(sheet[0][0] == "url" for sheet in sheets)
    assert [row[0] for sheet in sheets for row in sheet[1:]] == [record.url for record in pages]
    assert len(load_workbook(BytesIO(written("full", "xlsx", pages[:3]))).sheetnames) == 1


def test_a_sheet_stays_below_the_size_of_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "ENTRY_LIMIT", 4000)
    pages = [page(f"https://shop.example/{number}") for number in range(20)]
    data = written("full", "xlsx", *([one] for one in pages))
    sheets = [rows(data, number) for number in range(len(load_workbook(BytesIO(data)).sheetnames))]
    assert len(sheets) > 2
    assert [row[0] for sheet in sheets for row in sheet[1:]] == [record.url for record in pages]
