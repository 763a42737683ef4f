"""Waiting for what nobody tells of: a row that changes, a process that stops."""

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["LOOK", "until"]

LOOK = 0.05  # seconds between two looks


async def until(
    holds: Callable[[], Awaitable[bool]] | Callable[[], bool], *, seconds: float = 60, look: float = LOOK
) -> None:
    """Look again and again until it holds; TimeoutError when it does not."""
    async with asyncio.timeout(seconds):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(look)
