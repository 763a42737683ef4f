"""Running a transaction again when the database asks for it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fyke.core.errors import StoreBusy

__all__ = ["Again", "retrying"]

T = TypeVar("T")
ATTEMPTS = 8


class Again(Exception):
    """The transaction did not happen, or may not have; running it again is right."""


async def retrying(attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt` until it does not raise Again; deadlocks pass at once, restarts within seconds."""
    for number in range(ATTEMPTS):
        try:
            return await attempt()
        except Again as again:
            last = again
            await asyncio.sleep(min(2.0, 0.005 * 3**number) * (0.5 + random.random()))  # noqa: S311 - jitter
    raise StoreBusy(f"the database did not answer: {last.__cause__}") from last
