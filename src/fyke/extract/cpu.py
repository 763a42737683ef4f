"""Extraction without stalling the event loop.

The parser holds the interpreter's lock while it parses, so a thread gives no second core. What it gives
is the event loop its turn between the calls into C, of which parsing is the longest. Measured on one
core of a 2.1 GHz server, product target:

    page        at once       in the thread    longest stall in the thread
     26 KB       0.25 ms         0.7 ms          1-2 ms
    200 KB       1.8 ms          2.6 ms          3 ms
    400 KB       3.5 ms          4-6 ms          4-7 ms
    720 KB       6-8 ms          8-10 ms         6-10 ms
      2 MB       20-25 ms        23-26 ms        12-17 ms

So small pages are read at once: handing them over costs more than reading them. Large ones go to one
thread; several would stand in each other's way and keep the loop waiting for each. A process would take
the stall away altogether, for its start, some 40 MB, and the copying of page and record: that pays only
for pages of several megabytes, which are rare.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from fyke.core.record import Record
from fyke.extract import extract

__all__ = ["INLINE", "extract_off_loop"]

INLINE: Final = 250_000
"""Pages of fewer characters are read at once, within some 2 ms."""

# The thread starts with the first large page, and ends with the process.
_thread: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="extract")


async def extract_off_loop(html: str, url: str, target: str, *, links: bool = False) -> Record:
    """The record of a page, as `extract` gives it, with the event loop free to go on meanwhile."""
    if len(html) < INLINE:
        return extract(html, url, target, links=links)
    work = partial(extract, html, url, target, links=links)
    return await asyncio.get_running_loop().run_in_executor(_thread, work)
