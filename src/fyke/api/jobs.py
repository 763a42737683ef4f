"""Jobs: made, listed, shown, and told what to do."""

from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
import structlog
from fastapi import APIRouter, Query, Request, Response

from fyke.api.auth import guarded
from fyke.api.cursor import paging, place_of
from fyke.api.envelope import reply
from fyke.api.inputs import JobId, Parts
from fyke.api.once import IdempotencyKey, answered, created, earlier, recognised
from fyke.api.openapi import gives
from fyke.api.requests import JobBody, JobsQuery, ResumeBody, RetryBody
from fyke.api.services import unwritten
from fyke.api.views import CreatedJob, Deleted, JobShown, Retried, created_job, job_shown
from fyke.core import clock
from fyke.core.errors import Conflict, Invalid
from fyke.core.ids import public
from fyke.core.job import ENDED, JobOptions
from fyke.jobs.submit import JobRequest, discard, making
from fyke.store.conn import Conn
from fyke.store.delete_job import delete_job
from fyke.store.health import at_work
from fyke.store.jobs import Job, JobFilter, cancel_job, create_job, get_job, list_jobs
from fyke.store.resume_job import resume_job
from fyke.store.retry_job import retry_job

__all__ = ["reading", "submitting"]

reading = APIRouter(prefix="/jobs", tags=["jobs"], route_class=guarded("read"))
submitting = APIRouter(prefix="/jobs", tags=["jobs"], route_class=guarded("submit"))

log = structlog.get_logger("fyke.api")

NOBODY: Final = "no worker is at work: a server, a worker, or the same `fyke crawl` again goes on with it"

_options = msgspec.json.Decoder(JobOptions)


@submitting.post("", **gives(CreatedJob, 201, "The job has been made.", creates=True))
async def create(request: Request, services: Parts, body: JobBody, key: IdempotencyKey = None) -> Response:
    """Make a job from a list of URLs, a sitemap, or a site."""
    asked = recognised(request, key, body)
    answer = await earlier(services, asked)
    if answer is None:
        most = services.settings.max_urls_per_request
        if body.urls is not None and len(body.urls) > most:
            raise Invalid(f"at most {most} URLs can be given at once, not {len(body.urls)}", field="urls")
        prepared = await services.submit(_request(body))

        async def make(conn: Conn) -> CreatedJob:
            job = await get_job(conn, await create_job(conn, prepared))
            return created_job(job, prepared, await conn.now())

        async with making(prepared, services.database, services.objects):
            answer = await created(services, asked, make)
        if answer.replayed:  # a twin of the request has made it
            await discard(prepared, services.objects)
        else:
            job = msgspec.json.decode(answer.data)
            log.info("job_submitted", job=job["id"], domain=job["domain"], source=job["source"])
        services.queue.wake()
    identity = msgspec.json.decode(answer.data)["id"]
    return answered(answer, Location=f"/api/v1/jobs/{identity}")


def _request(body: JobBody) -> JobRequest:
    return JobRequest(
        options=body.options.options(),
        urls=None if body.urls is None else tuple(body.urls),
        sitemap=body.sitemap_url,
        site=body.site_url,
        name=body.name,
        domain=body.domain,
        skip_invalid=body.skip_invalid,
    )


@reading.get("", **gives(list[JobShown], 200, "Jobs, the newest first."))
async def list_all(services: Parts, query: Annotated[JobsQuery, Query()]) -> Response:
    """List jobs by domain, state and time."""
    wanted = JobFilter(
        query.domain,
        query.state,
        _time(query.created_from),
        _time(query.created_to),
        place_of(query.cursor),
        query.limit + 1,
    )

    async def read(conn: Conn) -> tuple[Sequence[Job], int]:
        return await list_jobs(conn, wanted), await conn.now()

    jobs, now = await services.database.read(read)
    shown, where = paging(jobs, [job.id for job in jobs], query.limit)
    return reply([job_shown(job, now) for job in shown], paging=where)


def _time(text: str | None) -> int | None:
    return None if text is None else clock.from_iso(text.upper())


@reading.get("/{job_id}", **gives(JobShown, 200, "The job."))
async def show(services: Parts, job: JobId) -> Response:
    """A job, its counters and how far it is."""

    async def read(conn: Conn) -> tuple[JobShown, bool]:
        return job_shown(await get_job(conn, job), await conn.now()), await at_work(conn)

    shown, worked_on = await services.database.read(read)
    if shown.state in ENDED:
        return reply(shown)
    problem = await unwritten(services) or (None if worked_on else NOBODY)
    return reply(msgspec.structs.replace(shown, problem=problem))


@submitting.delete("/{job_id}", **gives(Deleted, 200, "The job is gone."))
async def delete(services: Parts, job: JobId) -> Response:
    """Delete a job in any state, with its pages, changes and exports."""
    await services.database.write(lambda conn: delete_job(conn, job), urgent=True)
    return reply(Deleted(public(job), True))


@submitting.post("/{job_id}/cancel", **gives(JobShown, 202, "The job is being cancelled.", conflicts=True))
async def cancel(services: Parts, job: JobId) -> Response:
    """Hand out no more of a queued or running job's tasks; what runs may finish."""

    async def write(conn: Conn) -> JobShown:
        return job_shown(await cancel_job(conn, job), await conn.now())

    shown = await services.database.write(write, urgent=True)
    services.queue.wake()
    return reply(shown, 202)


@submitting.post("/{job_id}/resume", **gives(JobShown, 202, "The job goes on.", conflicts=True))
async def resume(services: Parts, job: JobId, body: ResumeBody | None = None) -> Response:
    """Go on with a stopped, cancelled or failed job where it stopped, with other limits if given."""
    limits = body.options.given() if body is not None else {}

    found = await services.database.read(lambda conn: get_job(conn, job))
    changed = msgspec.structs.replace(_options.decode(found.options), **limits) if limits else None
    found = await resume_job(services.database, job, services.policies.lane_for, changed)
    services.queue.wake()
    return reply(job_shown(found, clock.now()), 202)


@submitting.post("/{job_id}/retry", **gives(Retried, 202, "The failures run again.", conflicts=True))
async def retry(services: Parts, job: JobId, body: RetryBody | None = None) -> Response:
    """Run failures again: all, or those of an error class or a host."""
    wanted = body or RetryBody()
    count = await retry_job(
        services.database,
        job,
        services.policies.lane_for,
        wanted.error_class,
        wanted.host and wanted.host.lower(),
    )
    if not count:
        raise Conflict("nothing of that kind has failed in this job")
    services.queue.wake()
    found = await services.database.read(lambda conn: get_job(conn, job))
    return reply(Retried(count, job_shown(found, clock.now())), 202)
