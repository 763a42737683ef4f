"""How large a run is: short for `make test`, long for `make chaos`."""

from collections.abc import Sequence

import pytest
from msgspec import Struct

__all__ = ["ALL", "SHARED", "Size", "on", "sizes"]

SHARED = ("postgres_url", "mysql_url")
ALL = ("sqlite_url", *SHARED)


class Size(Struct, frozen=True, kw_only=True):
    """`blows` is how often something is killed, cut or stopped; when nothing has moved for
    `seconds`, what is not done is stuck."""

    pages: int
    blows: int
    workers: int = 2
    lease: float = 3.0
    concurrency: int = 8
    delay: float = 0.02
    seconds: float = 45.0


SHORT = pytest.mark.timeout(180)
LONG = (pytest.mark.long, pytest.mark.timeout(600))


def sizes(short: Size, long: Size) -> pytest.MarkDecorator:
    """Runs a test in both sizes, the long one with --long alone."""
    return pytest.mark.parametrize(
        "size", [pytest.param(short, id="short", marks=SHORT), pytest.param(long, id="long", marks=LONG)]
    )


def on(
    databases: Sequence[str], short: Size, long: Size, *, short_on: Sequence[str] | None = None
) -> pytest.MarkDecorator:
    """The same on several databases, named by their fixtures; the short one perhaps not on all."""
    cases = [
        pytest.param(database, size, id=f"{database}-{name}", marks=marks)
        for database in databases
        for name, size, marks in (("short", short, SHORT), ("long", long, LONG))
        if name == "long" or short_on is None or database in short_on
    ]
    return pytest.mark.parametrize(("database", "size"), cases)
