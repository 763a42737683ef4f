"""How large a run is: short for `make test`, long for `make chaos`."""

import pytest
from msgspec import Struct

__all__ = ["Size", "sizes"]


class Size(Struct, frozen=True, kw_only=True):
    """`blows` is how often something is killed, cut or stopped; what is not done `seconds` after the last
    counts as stuck."""

    pages: int
    blows: int
    workers: int = 2
    lease: float = 3.0
    concurrency: int = 8
    delay: float = 0.02
    seconds: float = 60.0


def sizes(short: Size, long: Size) -> pytest.MarkDecorator:
    """Runs a test in both sizes, the long one with --long alone."""
    return pytest.mark.parametrize(
        "size",
        [
            pytest.param(short, id="short", marks=pytest.mark.timeout(180)),
            pytest.param(long, id="long", marks=[pytest.mark.long, pytest.mark.timeout(480)]),
        ],
    )
