"""Logs in both forms: whole, and without a secret, tracebacks included."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from fyke.logs import configure

SECRETS = ("hunter2", "s3cret", "fyke_local")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def fail() -> None:
    token = "fyke_local"
    raise RuntimeError(f"no answer from postgres://me:hunter2@db/fyke?token=s3cret ({len(token)})")


@pytest.mark.parametrize("style", ["json", "text"])
@pytest.mark.parametrize("way", ["ours", "a library's"])
def test_a_traceback_tells_where_and_no_secret(
    style: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("INFO", style)
    try:
        fail()
    except RuntimeError:
        if way == "ours":
            structlog.get_logger("fyke.test").exception("it_failed", url="http://me:hunter2@a.test/")
        else:
            logging.getLogger("library").exception("it_failed: %s", "http://me:hunter2@a.test/")
    written = capsys.readouterr().err
    assert "it_failed" in written
    assert "in fail" in written
    assert "postgres://***@db/fyke?token=***" in written
    assert not any(secret in written for secret in SECRETS)
    if style == "json":
        assert json.loads(written)["level"] == "error"


def test_who_watches_a_command_reads_short_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure("WARNING", "text", brief=True)
    structlog.get_logger("fyke.test").warning(
        "robots_missing",
        host="a.test",
        url="http://a.test/robots.txt",
        reason="status 500",
        asked_again_at="noon",
    )
    structlog.get_logger("fyke.test").error(
        "page_failed", url="http://a.test/1", reason="status 404", attempts=1
    )
    assert capsys.readouterr().err.splitlines() == [
        "robots_missing: http://a.test/robots.txt: status 500; asked again at noon",
        "failed: http://a.test/1: status 404",
    ]
