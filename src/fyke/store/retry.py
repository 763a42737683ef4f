"""Running a transaction again when the database asks for it."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fyke.core.clock import monotonic
from fyke.core.errors import StoreBusy, StoreError

__all__ = ["Again", "Taken", "retrying"]

T = TypeVar("T")
ATTEMPTS = 8
ATTEMPTS_AT_KEYS = 5
PATIENCE = 30.0  # seconds after which there is no further attempt


class Again(Exception):
    """The transaction did not happen, or may not have; running it again is right."""


class Taken(Again):
    """A unique key is there already: somebody else was first, and the next attempt sees that. One that does
    not see it has itself asked for the impossible."""


async def retrying(attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt` until it does not raise Again; deadlocks pass at once, restarts within seconds."""
    taken, began = 0, monotonic()
    for number in range(ATTEMPTS):
        try:
            return await attempt()
        except Again as again:
            last = again
            taken += isinstance(again, Taken)
            if taken == ATTEMPTS_AT_KEYS:
                raise StoreError(f"the database refuses it: {again.__cause__}") from again
            if monotonic() - began > PATIENCE:
                break
            await asyncio.sleep(min(2.0, 0.005 * 3**number) * (0.5 + random.random()))  # noqa: S311 - jitter
    cause = last.__cause__
    raise StoreBusy(f"the database did not answer: {str(cause) or type(cause).__name__}") from last
