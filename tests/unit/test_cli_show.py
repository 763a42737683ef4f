"""What commands print of things that others have written."""

import re

import pytest

from fyke.cli.show import print_rows, say

TITLE = "\x1b[31mRed\x1b]0;yours\x07\x9b1m \u202eoff\r\nnext\x7f \0 Größe ✓"


def test_nothing_that_was_scraped_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(("=state", "title"), [("succeeded", TITLE)])
    say(TITLE)
    table = capsys.readouterr().out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", table)
    head, row, *_ = table.splitlines()
    assert head.split() == ["state", "title"]
    assert row.startswith("succeeded  �[31mRed")
    assert row.endswith("off next� � Größe ✓")
