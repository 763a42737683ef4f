"""Live events of a job, as server-sent events.

A job's events are rows, one for each settled batch. A row becomes several events: the state if that is
another than the row's before, its pages, its log lines, and the progress. The id of an event is the row's
number and the event's place in it, so who comes back with the last id goes on exactly there.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse
from msgspec import Struct

from fyke.api.auth import guarded
from fyke.api.inputs import JobId, Parts
from fyke.api.openapi import gives_file
from fyke.api.services import Services, unwritten
from fyke.core.clock import iso, monotonic, now
from fyke.core.errors import Invalid, JobNotFound
from fyke.core.ids import public
from fyke.core.job import ENDED
from fyke.store.conn import Conn
from fyke.store.events import Event, PageSeen, pages_seen, read_events
from fyke.store.jobs import Job, get_job

__all__ = ["follow", "router"]

router = APIRouter(prefix="/jobs/{job_id}", tags=["results"], route_class=guarded("read"))

ID: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,9})")
ROWS: Final = 50  # events read at once
LEAST_WAIT: Final = 0.05
MOST_WAIT: Final = 1.0
HEARTBEAT: Final = 15.0
QUEUED: Final = "queued"  # how every job begins

_encode = msgspec.json.encode


class Position(Struct, frozen=True):
    """After which event to go on: the number of its row, and its place in it."""

    number: int = 0
    index: int = 0


class Seen(Struct, frozen=True):
    """One look at a job: events after a position, the state before them, the pages they speak of, and the job
    as it is now."""

    job: Job | None
    before: str
    events: list[Event]
    pages: dict[int, PageSeen]


@router.get(
    "/stream",
    **gives_file("Events: progress, page, state, log, and complete at the end.", "text/event-stream"),
)
async def stream(
    services: Parts,
    job: JobId,
    last: Annotated[
        str | None,
        Header(alias="Last-Event-ID", description="The id of the last event received."),
    ] = None,
) -> Response:
    """Follow a job: everything that is kept of it, then what happens, until it ends."""
    found = await services.database.read(lambda conn: get_job(conn, job))
    position = _position(last)
    if position.number > found.event_number + 1:  # of another job, or of a database that is no more
        position = Position()
    return StreamingResponse(
        follow(services, job, position),
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
        media_type="text/event-stream",
    )


def _position(last: str | None) -> Position:
    if not last:
        return Position()
    match = ID.fullmatch(last)
    if match is None:
        raise Invalid(
            f"Last-Event-ID is the id of an event of this stream, such as 12-3, not {last[:40]!r}",
            field="Last-Event-ID",
        )
    return Position(int(match[1]), int(match[2]))


async def follow(services: Services, job: int, position: Position) -> AsyncGenerator[bytes, None]:
    """The job's events after `position`, as text, until the job has ended and all is said."""
    wait, spoken, said = LEAST_WAIT, monotonic(), ""
    told: str | None = None
    yield b"retry: 1000\n\n"
    while True:
        seen = await services.database.read(lambda conn, position=position: _look(conn, job, position))  # type: ignore[misc]  # bound default
        before = seen.before
        for event in seen.events:
            for text in _texts(event, seen.pages, position, before):
                yield text
            position = Position(event.number + 1)
            if event.state != before:
                before = said = event.state
        if seen.events:
            wait, spoken = LEAST_WAIT, monotonic()
        if len(seen.events) >= ROWS:
            continue
        if seen.job is not None and seen.job.state != said:  # claims move a job on without an event
            said = seen.job.state
            yield _text("state", None, {"state": said, "close_reason": seen.job.close_reason})
        if seen.job is None or (seen.job.state in ENDED and seen.job.event_number < position.number):
            yield _complete(job, seen.job, position)
            return
        problem = await unwritten(services)
        if problem is not None and problem != told:  # no row can be written that tells of it
            yield _text("log", None, {"at": iso(now()), "message": problem})
        told = problem
        if services.changes.closed:  # whoever follows comes back with the last id
            return
        if monotonic() - spoken >= HEARTBEAT:
            spoken = monotonic()
            yield b": still here\n\n"
        await services.changes.wait(wait)
        wait = min(MOST_WAIT, wait * 1.5)


async def _look(conn: Conn, job: int, position: Position) -> Seen:
    try:
        found = await get_job(conn, job)
    except JobNotFound:  # deleted while it was followed
        return Seen(None, QUEUED, [], {})
    events = await read_events(conn, job, position.number - 2, ROWS + 1)
    before = events.pop(0).state if events and events[0].number < position.number else QUEUED
    return Seen(found, before, events, await pages_seen(conn, job, [seq for e in events for seq in e.pages]))


def _texts(event: Event, pages: dict[int, PageSeen], position: Position, before: str) -> Iterator[bytes]:
    """What a row says, without what was said before `position`; `before` is the state of the row before."""
    said = position.index if event.number == position.number else 0
    for index, (kind, data) in enumerate(_parts(event, pages, before), 1):
        if index > said and data is not None:
            yield _text(kind, f"{event.number}-{index}", data)


def _parts(event: Event, pages: dict[int, PageSeen], before: str) -> Iterator[tuple[str, Any]]:
    if event.state != before:  # first: pages come of what is running
        yield "state", {"state": event.state, "close_reason": event.close_reason}
    for seq in event.pages:  # a page that is gone keeps its place: ids stay what they were
        page = pages.get(seq)
        yield "page", None if page is None else _page(page)
    for line in event.log:
        yield "log", {"at": iso(event.at), "message": line}
    yield (
        "progress",
        {
            "at": iso(event.at),
            "total": event.total,
            "succeeded": event.succeeded,
            "failed": event.failed,
            "skipped": event.skipped,
            "bytes": event.bytes,
            "planned": event.planned,
        },
    )


def _page(page: PageSeen) -> dict[str, Any]:
    shown = msgspec.structs.asdict(page)
    del shown["seq"]
    return shown


def _complete(job: int, found: Job | None, position: Position) -> bytes:
    data: dict[str, Any] = {"id": public(job), "state": "deleted", "close_reason": None}
    if found is not None:
        data |= {"state": found.state, "close_reason": found.close_reason}
    return _text("complete", f"{position.number}-0", data)


def _text(kind: str, identity: str | None, data: Any) -> bytes:
    """An event; one without an id leaves the reader's place as it was."""
    name = f"id: {identity}\n" if identity else ""
    return f"event: {kind}\n{name}data: ".encode() + _encode(data) + b"\n\n"
