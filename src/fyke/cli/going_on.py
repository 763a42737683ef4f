"""What a repeated `fyke crawl` makes of the crawl that it goes on with, and what it tells of that."""

from collections.abc import Sequence

import msgspec

from fyke.core.ids import key16
from fyke.core.job import JobOptions
from fyke.jobs.submit import Prepared
from fyke.objects.protocol import ObjectNotFound, ObjectStore
from fyke.store.jobs import Job, change_options, known_urls
from fyke.store.listings import sources_of
from fyke.wiring import Base

__all__ = ["apply_options", "list_has_changed", "others_wait", "word_of"]

OPTIONS = {
    "max_urls": "--max-urls",
    "traffic_budget_mb": "--max-mb",
    "max_concurrency": "--concurrency",
    "strategies": "--strategy",
    "exports": "--format",
}
TRAILER = 8  # bytes at the end of a gzip file: the checksum and the length of what was packed


def word_of(latest: Job, asked_at: int) -> str:
    """What is said first. A job that nobody had begun when the command was given may be under way by now."""
    if latest.started_at is None or latest.started_at >= asked_at:
        return f"Beginning with a crawl of {latest.source} that was asked for before."
    return f"Going on with a crawl of {latest.source} that was interrupted."


async def apply_options(base: Base, latest: Job, wanted: JobOptions, given: Sequence[str]) -> list[str]:
    """Give a crawl that has not ended the options that the command names, and no others; what to say."""
    old = msgspec.json.decode(latest.options, type=JobOptions)
    changed = {name: getattr(wanted, name) for name in given if getattr(wanted, name) != getattr(old, name)}
    if not changed:
        return []
    options = msgspec.structs.replace(old, **changed)
    await base.database.write(lambda conn: change_options(conn, latest.id, options))
    return [
        f"{OPTIONS[name]} is {_spelled(value)} from here on; it was {_spelled(getattr(old, name))}."
        for name, value in changed.items()
    ]


def _spelled(value: object) -> str:
    return (
        ",".join(value)
        if isinstance(value, tuple)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


async def list_has_changed(base: Base, latest: Job, prepared: Prepared) -> bool:
    """Whether a list has other URLs now than when its crawl began. Short lists are compared URL by URL,
    long ones by the checksums of their objects; False where neither can be told."""
    sources = await base.database.read(lambda conn: sources_of(conn, latest.id))
    if bool(sources) != bool(prepared.sources):  # a budget below the list's length makes it a long one
        most = msgspec.json.decode(latest.options, type=JobOptions).max_urls
        return most == prepared.options.max_urls
    if sources:
        now, then = prepared.sources[0].location, sources[0].location
        try:
            return await _trailer(base.objects, now) != await _trailer(base.objects, then)
        except ObjectNotFound:
            return False
    return await base.database.read(lambda conn: known_urls(conn, latest.id)) != {
        key16(task.url) for task in prepared.tasks
    }


async def _trailer(objects: ObjectStore, key: str) -> bytes:
    size = await objects.size(key)
    return b"".join([piece async for piece in await objects.open(key, max(0, size - TRAILER), TRAILER)])


def others_wait(count: int) -> str:
    """What is said of other jobs in an embedded database."""
    what = "1 other job has" if count == 1 else f"{count} other jobs have"
    return f"{what} not ended in this data directory: this command works on them too, for as long as it runs."
