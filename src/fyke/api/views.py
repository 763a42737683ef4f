"""What the API shows: one frozen value for each thing, made from the rows of the store."""

from typing import Any

import msgspec
from msgspec import Raw, Struct

from fyke.core.clock import iso
from fyke.core.ids import public
from fyke.core.job import ENDED, JobOptions
from fyke.core.outcome import Change
from fyke.export.write import SUFFIXES
from fyke.jobs.submit import Prepared
from fyke.store.exports import Export
from fyke.store.jobs import Job
from fyke.store.keys import SCOPES, Key
from fyke.store.results import PageView

__all__ = [
    "ChangeShown",
    "CreatedJob",
    "Deleted",
    "ErrorGroup",
    "ErrorSample",
    "ExportShown",
    "JobShown",
    "KeyShown",
    "LeftOut",
    "MetricPoint",
    "NewKey",
    "PageShown",
    "Progress",
    "Retried",
    "change_shown",
    "created_job",
    "export_shown",
    "job_shown",
    "key_shown",
    "page_shown",
]

MB = 1_000_000
_options = msgspec.json.Decoder(JobOptions)


class Progress(Struct, frozen=True):
    """How far a job is. `total` grows until the plan is done; `fraction` is null until then, and
    `seconds_left` until there is something to go by."""

    done: int
    total: int
    planned: bool
    fraction: float | None
    pages_per_second: float | None
    seconds_left: float | None


class JobShown(Struct, frozen=True):
    """A job. Each page of `total` is counted once more, in `queued`, `running` (claimed by a worker),
    `cancelled` (with the job), `succeeded`, `failed` or `skipped`. `problem` says why it does not go on
    though it has not ended: its results cannot be written, or no worker is at work. Lists leave it out."""

    id: str
    state: str
    close_reason: str | None
    domain: str
    source_kind: str
    source: str
    options: JobOptions
    created_at: str
    started_at: str | None
    finished_at: str | None
    error_message: str | None
    total: int
    queued: int
    running: int
    cancelled: int
    succeeded: int
    failed: int
    skipped: int
    bytes: int
    residential_bytes: int
    megabytes: float
    residential_megabytes: float
    warnings: int
    progress: Progress
    problem: str | None = None


class LeftOut(Struct, frozen=True):
    """A line of the list that was passed over."""

    line: int
    text: str
    reason: str


class CreatedJob(JobShown, frozen=True, kw_only=True):
    """A job that has just been made, and what of its list was left out of it."""

    left_out: int
    left_out_lines: list[LeftOut]


class Retried(Struct, frozen=True):
    """A job whose failures run again, and how many they are."""

    retried: int
    job: JobShown


class PageShown(Struct, frozen=True):
    """What came of one URL. `body_url` is where the body of the answer is, if it is kept."""

    url: str
    state: str
    final_url: str | None
    http_status: int | None
    fetched_at: str
    title: str | None
    h1: str | None
    content_hash: str | None
    bytes_in: int
    data_full: dict[str, Any] | None
    data_seo: dict[str, Any] | None
    error_class: str | None
    error_message: str | None
    retry_count: int
    strategy_used: str | None
    proxy_used: str | None
    elapsed_ms: int
    body_url: str | None


class ErrorSample(Struct, frozen=True):
    """One of a group's pages."""

    url: str
    http_status: int | None
    message: str | None


class ErrorGroup(Struct, frozen=True):
    """Failures of one class at one host."""

    error_class: str
    host: str
    count: int
    samples: list[ErrorSample]


class ChangeShown(Struct, frozen=True):
    """One row of a job's diff."""

    url: str
    change_type: str
    prev_crawl_at: str | None
    curr_crawl_at: str
    fields_changed: list[str]
    price_prev: str | None
    price_curr: str | None
    availability_prev: str | None
    availability_curr: str | None
    title_prev: str | None
    title_curr: str | None


class ExportShown(Struct, frozen=True):
    """An export that can be downloaded."""

    id: str
    job_id: str
    type: str
    format: str
    filename: str
    size_bytes: int
    row_count: int
    created_at: str
    url: str


class MetricPoint(Struct, frozen=True):
    """One value of one of a job's time series."""

    at: str
    name: str
    value: float
    labels: dict[str, str]


class KeyShown(Struct, frozen=True):
    """An API key, without its token: that is shown once."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    last_used_at: str | None


class NewKey(KeyShown, frozen=True, kw_only=True):
    """An API key that has just been made; its token is not shown again."""

    token: str


class Deleted(Struct, frozen=True):
    """What is gone."""

    id: str
    deleted: bool


def _time(us: int | None) -> str | None:
    return None if us is None else iso(us)


def job_shown(job: Job, now: int) -> JobShown:
    return JobShown(**_job(job, now))


def _job(job: Job, now: int) -> dict[str, Any]:
    left = job.total - _done(job)
    running = min(job.in_flight, left)  # what reads the sources runs, too, and is no page
    off = job.state in ("cancelling", "cancelled")
    return {
        "id": public(job.id),
        "state": job.state,
        "close_reason": job.close_reason if job.state in ENDED else None,
        "domain": job.domain,
        "source_kind": job.source_kind,
        "source": job.source,
        "options": _options.decode(job.options),
        "created_at": iso(job.created_at),
        "started_at": _time(job.started_at),
        "finished_at": _time(job.finished_at),
        "error_message": job.error_message,
        "total": job.total,
        "queued": 0 if off else left - running,
        "running": running,
        "cancelled": left - running if off else 0,
        "succeeded": job.succeeded,
        "failed": job.failed,
        "skipped": job.skipped,
        "bytes": job.bytes,
        "residential_bytes": job.residential_bytes,
        "megabytes": round(job.bytes / MB, 3),
        "residential_megabytes": round(job.residential_bytes / MB, 3),
        "warnings": job.warnings,
        "progress": _progress(job, now),
    }


def _done(job: Job) -> int:
    return job.succeeded + job.failed + job.skipped


def _progress(job: Job, now: int) -> Progress:
    done = _done(job)
    seconds = ((job.finished_at or now) - job.started_at) / 1e6 if job.started_at else 0.0
    rate = done / seconds if done and seconds > 0 else None
    left = (job.total - done) / rate if rate and job.planned and job.state not in ENDED else None
    return Progress(
        done,
        job.total,
        bool(job.planned),
        round(done / job.total, 4) if job.planned and job.total else None,
        round(rate, 2) if rate else None,
        round(left, 1) if left is not None else None,
    )


def created_job(job: Job, prepared: Prepared, now: int) -> CreatedJob:
    lines = [LeftOut(p.line, p.text, p.reason) for p in prepared.problems]
    return CreatedJob(**_job(job, now), left_out=prepared.skipped, left_out_lines=lines)


def page_shown(page: PageView, job: int) -> dict[str, Any]:
    """A PageShown whose data stay the JSON they are in the store."""
    shown = msgspec.structs.asdict(page)
    del shown["seq"]  # larger than what JavaScript counts to
    kept = shown.pop("body_object") is not None
    shown["body_url"] = f"/api/v1/jobs/{public(job)}/pages/{page.seq}/body" if kept else None
    shown["fetched_at"] = iso(page.fetched_at)
    for name in ("data_full", "data_seo"):
        shown[name] = Raw(shown[name].encode()) if shown[name] else None
    return shown


def change_shown(change: Change) -> ChangeShown:
    return ChangeShown(
        change.url,
        change.change_type,
        _time(change.prev_at),
        iso(change.curr_at),
        change.fields_changed.split(";") if change.fields_changed else [],
        change.price_prev,
        change.price_curr,
        change.availability_prev,
        change.availability_curr,
        change.title_prev,
        change.title_curr,
    )


def filename_of(export: Export) -> str:
    return f"{public(export.job)}-{export.type}{SUFFIXES[export.format]}"


def export_shown(export: Export) -> ExportShown:
    return ExportShown(
        public(export.id),
        public(export.job),
        export.type,
        export.format,
        filename_of(export),
        export.size_bytes,
        export.row_count,
        iso(export.created_at),
        f"/api/v1/exports/{public(export.id)}/download",
    )


def key_shown(key: Key) -> KeyShown:
    scopes = sorted(key.scopes, key=SCOPES.index)
    return KeyShown(public(key.id), key.name, scopes, iso(key.created_at), _time(key.last_used_at))
