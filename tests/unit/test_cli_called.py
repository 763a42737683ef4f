"""Commands that people are told to give can be given."""

import shutil
import sys

import pytest

from fyke.cli.called import program, typed


def calling(monkeypatch: pytest.MonkeyPatch, called: str, found: str | None) -> None:
    monkeypatch.setattr(sys, "argv", [called, "jobs"])
    monkeypatch.setattr(shutil, "which", {"fyke": found}.get)


def test_by_its_name_where_the_shell_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for called in ("/opt/env/bin/fyke", "/opt/env/lib/../bin/fyke"):
        calling(monkeypatch, called, "/opt/env/bin/fyke")
        assert program() == "fyke"


def test_as_it_was_called_where_the_shell_finds_none_or_another(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (None, "/usr/bin/fyke"):
        calling(monkeypatch, ".venv/bin/fyke", found)
        assert program() == ".venv/bin/fyke"
        assert typed("run `fyke db migrate`, fyke!") == "run `.venv/bin/fyke db migrate`, fyke!"
    calling(monkeypatch, "/my things/fyke", None)
    assert program() == "'/my things/fyke'"
    calling(monkeypatch, "/lib/fyke/__main__.py", None)
    assert program() == f"{sys.executable} -m fyke"
