"""XLSX as XML written straight into a zip.

Text is written as inline strings, never as formulas, so that nothing in it can run and nothing has to
be changed. Characters that XML cannot carry are escaped as the format has it (`_x0007_`). A cell holds
32,767 UTF-16 units: longer text is cut there and counted. A sheet holds 1,048,575 rows below its
header; what is more goes on to the next, and so does what would make the sheet larger than a plain
zip entry. There is no time in the file: same rows, same bytes.
"""

import re
from typing import BinaryIO, Final

from fyke.export.rows import Cells, Column, Columns, Shape, texts
from fyke.export.zipstream import ENTRY_LIMIT, ZipStream

__all__ = ["CELL_LIMIT", "SHEET_ROWS", "XlsxWriter"]

CELL_LIMIT: Final = 32_767
SHEET_ROWS: Final = 1_048_575

NAMESPACE: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
CONTENT: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

ROOT_RELATIONS: Final = (
    f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1"'
    f' Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
# Cell formats: 0 plain, 1 bold for the header, 2 a number with two decimals.
STYLES: Final = (
    f'{HEAD}<styleSheet xmlns="{NAMESPACE}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>'
    '<xf numFmtId="2" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
SHEET_START: Final = (
    f'{HEAD}<worksheet xmlns="{NAMESPACE}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    "<sheetData>"
)
SHEET_END: Final = "</sheetData></worksheet>"


class XlsxWriter:
    """Rows into a binary file. `name` is what the sheets are called."""

    def __init__(self, file: BinaryIO, columns: tuple[Column, ...], name: str = "Sheet") -> None:
        self.cut = 0
        self._columns = columns
        self._name = name
        self._zip = ZipStream(file)
        self._sheets = 0
        self._row = 0
        self._part("_rels/.rels", ROOT_RELATIONS)
        self._part("xl/styles.xml", STYLES)
        self._open_sheet()

    def add(self, columns: Columns) -> None:
        total, done = len(columns[0]), 0
        while done < total:
            if self._row > SHEET_ROWS or self._zip.size > ENTRY_LIMIT:
                self._close_sheet()
                self._open_sheet()
            take = min(total - done, SHEET_ROWS + 1 - self._row)
            self._write([cells[done : done + take] for cells in columns], take)
            done += take

    def close(self) -> None:
        self._close_sheet()
        numbers = range(1, self._sheets + 1)
        names = [self._name, *(f"{self._name} {number}" for number in numbers[1:])]
        sheets = "".join(
            f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
            for name, number in zip(names, numbers, strict=True)
        )
        relations = "".join(
            f'<Relationship Id="rId{number}" Type="{OFFICE}/worksheet"'
            f' Target="worksheets/sheet{number}.xml"/>'
            for number in numbers
        )
        overrides = "".join(
            f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{CONTENT}.worksheet+xml"/>'
            for number in numbers
        )
        self._part(
            "xl/workbook.xml",
            f'{HEAD}<workbook xmlns="{NAMESPACE}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>',
        )
        self._part(
            "xl/_rels/workbook.xml.rels",
            f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">{relations}<Relationship Id="styles"'
            f' Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        self._part(
            "[Content_Types].xml",
            f'{HEAD}<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels"'
            ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml"'
            f' ContentType="{CONTENT}.sheet.main+xml"/><Override PartName="/xl/styles.xml"'
            f' ContentType="{CONTENT}.styles+xml"/>{overrides}</Types>',
        )
        self._zip.finish()

    def _part(self, name: str, text: str) -> None:
        self._zip.start(name)
        self._zip.write(text.encode())

    def _open_sheet(self) -> None:
        self._sheets += 1
        self._row = 1
        names = [column.name for column in self._columns]
        header = "".join(f'<c s="1" t="inlineStr"><is><t>{name}</t></is></c>' for name in names)
        self._part(f"xl/worksheets/sheet{self._sheets}.xml", f"{SHEET_START}<row>{header}</row>")

    def _close_sheet(self) -> None:
        self._zip.write(SHEET_END.encode())

    def _write(self, columns: Columns, rows: int) -> None:
        marked = [
            _numbers(column, cells)
            if column.shape in (Shape.NUMBER, Shape.INTEGER)
            else self._text(texts(column, cells))
            for column, cells in zip(self._columns, columns, strict=True)
        ]
        lines = [line.encode() for line in map("".join, zip(*marked, strict=True))]
        self._zip.write(b"<row>" + b"</row><row>".join(lines) + b"</row>")
        self._row += rows

    def _text(self, cells: list[str]) -> list[str]:
        look = BETWEEN.join(cells)
        if len(look) > CELL_LIMIT // 2 and max(map(len, cells)) > CELL_LIMIT // 2:
            cells = [self._short(cell) for cell in cells]
            look = BETWEEN.join(cells)
        if _illegal(look, len(cells) - 1):
            cells = [ILLEGAL.sub(lambda match: f"_x{ord(match[0]):04X}_", cell) for cell in cells]
            look = BETWEEN.join(cells)
        if "&" in look or "<" in look or "]]>" in look:
            look = look.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")
            cells = look.split(BETWEEN)
        start = (
            '<c t="inlineStr"><is><t xml:space="preserve">' if _spaced(look) else '<c t="inlineStr"><is><t>'
        )
        return [f"{start}{cell}</t></is></c>" if cell else "<c/>" for cell in cells]

    def _short(self, cell: str) -> str:
        if len(cell) <= CELL_LIMIT // 2:
            return cell
        units = cell.encode("utf-16-le", "replace")
        if len(units) <= CELL_LIMIT * 2:
            return cell
        self.cut += 1
        return units[: CELL_LIMIT * 2].decode("utf-16-le", "ignore")


BETWEEN: Final = "\x1f"  # joins a column for working on it in one go
# What XML 1.0 cannot carry, and CR, which a parser would turn into LF; as bytes for a quick look.
ILLEGAL_BYTES: Final = bytes([*range(0x09), 0x0B, 0x0C, *range(0x0D, 0x20)])
ILLEGAL: Final = re.compile("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def _illegal(text: str, separators: int) -> bool:
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return True
    controls = len(body) - len(body.translate(None, ILLEGAL_BYTES))
    return controls != separators or "_x" in text or "\ufffe" in text or "\uffff" in text


def _spaced(look: str) -> bool:
    """Whether a cell of the joined text has white space that XML readers would drop."""
    return (
        "\n" in look
        or "\t" in look
        or " " + BETWEEN in look
        or BETWEEN + " " in look
        or look[:1] == " "
        or look[-1:] == " "
    )


def _numbers(column: Column, cells: Cells) -> list[str]:
    return [_number(cell) if cell else "<c/>" for cell in texts(column, cells)]


def _number(text: str) -> str:
    return f'<c s="2"><v>{text}</v></c>' if text[-3:-2] == "." else f"<c><v>{text}</v></c>"
