"""What a job found: pages, failures, changes, time series."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Query, Response

from fyke.api.auth import guarded
from fyke.api.cursor import paging, place_of
from fyke.api.envelope import reply
from fyke.api.inputs import JobId, Parts
from fyke.api.openapi import gives
from fyke.api.requests import ChangesQuery, ListQuery, PagesQuery
from fyke.api.views import (
    ChangeShown,
    ErrorGroup,
    ErrorSample,
    MetricPoint,
    PageShown,
    change_shown,
    page_shown,
)
from fyke.core.clock import iso
from fyke.core.outcome import Change
from fyke.store.conn import Conn
from fyke.store.jobs import Job, get_job
from fyke.store.metrics import NAMES, Sample, list_samples
from fyke.store.results import FailureGroup, PageFilter, PageView, group_failures, list_changes, list_pages

__all__ = ["router"]

router = APIRouter(prefix="/jobs/{job_id}", tags=["results"], route_class=guarded("read"))

SAMPLES: Final = 5  # pages shown of each group of failures


@router.get("/pages", **gives(list[PageShown], 200, "Pages in the order of the job's plan."))
async def pages(services: Parts, job: JobId, query: Annotated[PagesQuery, Query()]) -> Response:
    """What came of each URL, failures included."""
    wanted = PageFilter(query.state, query.error_class, place_of(query.cursor), query.limit + 1)

    async def read(conn: Conn) -> Sequence[PageView]:
        await get_job(conn, job)
        return await list_pages(conn, job, wanted)

    found = await services.database.read(read)
    shown, where = paging(found, [page.seq for page in found], query.limit)
    return reply([page_shown(page, job) for page in shown], paging=where)


@router.get("/errors", **gives(list[ErrorGroup], 200, "The most frequent failures first."))
async def errors(services: Parts, job: JobId, query: Annotated[ListQuery, Query()]) -> Response:
    """Failures by class and host, with how many there are and some of them."""
    after = place_of(query.cursor) or 0

    async def read(conn: Conn) -> Sequence[FailureGroup]:
        await get_job(conn, job)
        return await group_failures(conn, job, after, query.limit + 1, SAMPLES)

    found = await services.database.read(read)
    shown, where = paging(found, range(after + 1, after + 1 + len(found)), query.limit)
    return reply([_group(group) for group in shown], paging=where)


def _group(group: FailureGroup) -> ErrorGroup:
    samples = [ErrorSample(page.url, page.http_status, page.error_message) for page in group.first]
    return ErrorGroup(group.error_class, group.host, group.count, samples)


@router.get("/diff", **gives(list[ChangeShown], 200, "Changes in the order of the job's plan."))
async def diff(services: Parts, job: JobId, query: Annotated[ChangesQuery, Query()]) -> Response:
    """What is new, gone, changed or as before, compared with the crawl before."""

    async def read(conn: Conn) -> Sequence[Change]:
        await get_job(conn, job)
        return await list_changes(conn, job, query.change_type, place_of(query.cursor), query.limit + 1)

    found = await services.database.read(read)
    shown, where = paging(found, [change.seq for change in found], query.limit)
    return reply([change_shown(change) for change in shown], paging=where)


@router.get("/metrics", **gives(list[MetricPoint], 200, "Values in the order of their times."))
async def metrics(services: Parts, job: JobId, query: Annotated[ListQuery, Query()]) -> Response:
    """A job's counters over time. `limit` counts moments; the last is the state of now, or of the end."""

    async def read(conn: Conn) -> tuple[Job, int, list[Sample]]:
        found = await get_job(conn, job)
        after = place_of(query.cursor)
        samples = await list_samples(conn, job, -1 if after is None else after, query.limit + 1)
        return found, await conn.now(), samples

    found, now, samples = await services.database.read(read)
    moments = sorted({sample.at for sample in samples})
    shown, where = paging(moments, moments, query.limit)
    points = [_point(sample) for sample in samples if sample.at in set(shown)]
    if where.next is None and found.started_at is not None:
        points += _last(found, now)
    return reply(points, paging=where)


def _point(sample: Sample) -> MetricPoint:
    return MetricPoint(iso(sample.at), sample.name, sample.value, msgspec.json.decode(sample.labels))


def _last(job: Job, now: int) -> list[MetricPoint]:
    at, labels = iso(job.finished_at or now), {"domain": job.domain, "target": job.target}
    return [MetricPoint(at, name, float(getattr(job, name)), labels) for name in sorted(NAMES)]
