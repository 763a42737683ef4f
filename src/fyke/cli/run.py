"""Running a command's coroutine: the fast loop, the logs, the settings."""

import asyncio
import gc
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from fyke import logs, settings

try:
    import uvloop
except ImportError:  # only where it cannot be built; asyncio's own loop does
    uvloop = None  # type: ignore[assignment]

__all__ = ["configured", "run"]

T = TypeVar("T")
# How many objects are made before the cycle collector looks. Thousands of tasks, pages and rows are alive at
# any time, few of them in cycles: by its own figures it took some 4 % of a crawl's CPU to find nothing.
COLLECT_AFTER = (20_000, 20, 50)


def configured(*, quiet: bool = False, given: Mapping[str, Any] | None = None) -> settings.Settings:
    """The settings, `given` on top, and logs set up by them; `quiet` commands log only what is wrong
    unless told otherwise."""
    found = settings.load(**(given or {}))
    unasked = quiet and "log_level" not in found.model_fields_set
    logs.configure("WARNING" if unasked else found.log_level, found.log_format, brief=unasked)
    return found


def run(work: Coroutine[Any, Any, T]) -> T:
    gc.set_threshold(*COLLECT_AFTER)
    gc.freeze()  # what has been imported stays
    if uvloop is None:
        return asyncio.run(work)
    return uvloop.run(work)
