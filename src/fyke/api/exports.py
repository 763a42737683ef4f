"""Exports: listed, made on demand, downloaded."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from fyke.api.auth import guarded
from fyke.api.cursor import paging, place_of
from fyke.api.envelope import problem, reply
from fyke.api.inputs import ExportId, JobId, Parts
from fyke.api.once import IdempotencyKey, answered, created, earlier, recognised
from fyke.api.openapi import gives, gives_file
from fyke.api.requests import ExportBody, ListQuery
from fyke.api.services import Services
from fyke.api.views import ExportShown, export_shown, filename_of
from fyke.core.outcome import SaveExport
from fyke.export.write import MEDIA_TYPES
from fyke.store.conn import Conn
from fyke.store.exports import Export, get_export, list_exports, register_made
from fyke.store.idempotency import Answer
from fyke.store.jobs import get_job

__all__ = ["reading", "submitting"]

reading = APIRouter(tags=["exports"], route_class=guarded("read"))
submitting = APIRouter(tags=["exports"], route_class=guarded("submit"))

RANGE: Final = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))")

Read = Callable[[Conn], Awaitable[Sequence[Export]]]


@reading.get("/jobs/{job_id}/exports", **gives(list[ExportShown], 200, "Exports, the newest first."))
async def list_of_job(services: Parts, job: JobId, query: Annotated[ListQuery, Query()]) -> Response:
    """The exports of a job."""

    async def read(conn: Conn) -> Sequence[Export]:
        await get_job(conn, job)
        return await list_exports(conn, job, place_of(query.cursor), query.limit + 1)

    return await _list(services, read, query.limit)


@reading.get("/exports", **gives(list[ExportShown], 200, "Exports, the newest first."))
async def list_all(services: Parts, query: Annotated[ListQuery, Query()]) -> Response:
    """All exports."""
    return await _list(
        services,
        lambda conn: list_exports(conn, None, place_of(query.cursor), query.limit + 1),
        query.limit,
    )


async def _list(services: Services, read: Read, limit: int) -> Response:
    found = await services.database.read(read)
    shown, where = paging(found, [export.id for export in found], limit)
    return reply([export_shown(export) for export in shown], paging=where)


@submitting.post(
    "/jobs/{job_id}/exports",
    **gives(ExportShown, 201, "The export has been made.", creates=True, conflicts=True),
)
async def make(
    request: Request, services: Parts, job: JobId, body: ExportBody, key: IdempotencyKey = None
) -> Response:
    """Make an export of what the job has so far; it takes the place of one of its type and format."""
    asked = recognised(request, key, body)
    answer = await earlier(services, asked)
    if answer is None:

        async def register(made: SaveExport) -> Answer:
            async def take_up(conn: Conn) -> ExportShown:
                return export_shown(await register_made(conn, made))

            return await created(services, asked, take_up)

        answer = await services.export(job, body.type, body.format, register)
    return answered(answer)


@reading.get("/exports/{export_id}", **gives(ExportShown, 200, "The export."))
async def show(services: Parts, export: ExportId) -> Response:
    """An export, and where to get it."""
    return reply(export_shown(await services.database.read(lambda conn: get_export(conn, export))))


@reading.get(
    "/exports/{export_id}/download",
    **gives_file(
        "The export's bytes, or the part that `Range` asks for.", *MEDIA_TYPES.values(), ranges=True
    ),
)
async def download(
    services: Parts,
    export: ExportId,
    range_header: Annotated[
        str | None, Header(alias="Range", description="Bytes wanted, as `bytes=0-1023`.")
    ] = None,
) -> Response:
    """Download an export."""
    found = await services.database.read(lambda conn: get_export(conn, export))
    size = await services.objects.size(found.object)
    headers = {
        "Content-Disposition": f'attachment; filename="{filename_of(found)}"',
        "Accept-Ranges": "bytes",
    }
    part = part_of(range_header, size)
    if part is None:
        headers["Content-Length"] = str(size)
        body = await services.objects.open(found.object, 0, size)
        return StreamingResponse(body, 200, headers, MEDIA_TYPES[found.format])
    first, last = part
    if first > last:
        return problem(
            416,
            "range_not_satisfiable",
            f"the export has {size} bytes",
            {"size_bytes": size},
            {"Content-Range": f"bytes */{size}"},
        )
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    headers["Content-Length"] = str(last - first + 1)
    body = await services.objects.open(found.object, first, last - first + 1)
    return StreamingResponse(body, 206, headers, MEDIA_TYPES[found.format])


def part_of(header: str | None, size: int) -> tuple[int, int] | None:
    """The first and last byte that a Range header asks for; the first beyond the last when there are
    none; None for no header, or one that is to be passed over."""
    match = RANGE.fullmatch(header) if header else None
    if match is None:
        return None
    start, end, tail = match.groups()
    if tail is not None:
        return max(0, size - int(tail)), size - 1
    if end is not None and int(end) < int(start):
        return None
    last = min(size - 1, int(end)) if end is not None else size - 1
    return (int(start), last) if int(start) <= last else (size, size - 1)
