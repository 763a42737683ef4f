"""The last task of a job: what is no longer listed, the exports, the end.

It runs as a task of Fyke's own (job 0) once nothing of the job is open, or nothing of it runs any more.
Running it again does no harm: what was found removed before is not found again, and an export takes the
place of the one before.
"""

import random
from functools import partial
from typing import Final

import msgspec
import structlog
from msgspec import Struct

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.diff import removed
from fyke.core.errors import DiskFull, FykeError, Invalid, JobNotFound, StoreBusy
from fyke.core.handler import Context
from fyke.core.ids import public
from fyke.core.job import EXPORT_FORMATS, EXPORT_TYPES, JobOptions
from fyke.core.outcome import (
    Change,
    Effect,
    EndJob,
    ForgetListings,
    Outcome,
    SaveChanges,
    SaveExport,
    Verdict,
)
from fyke.core.page import ErrorClass
from fyke.core.retry import RetryPolicy, retry_delay
from fyke.core.task import JobInfo, Task
from fyke.jobs.export import ExportParts, exports_of, make_export
from fyke.jobs.plan import plan_prefix
from fyke.store.exports import list_exports
from fyke.store.jobs import Job, get_job
from fyke.store.listings import (
    SourceState,
    absent,
    is_list,
    kept_listings,
    listings_before,
    read_whole,
    sources_of,
)
from fyke.store.pages import last_change
from fyke.store.queue.sources import UNREAD

__all__ = ["REMOVED_FROM", "FinishHandler"]


log = structlog.get_logger("fyke.finish")

REMOVED_FROM: Final = 1 << 62  # places in the diff beyond those of all pages, found by links or listed
CHUNK: Final = 500
DISK_FULL_WAIT: Final = 30 * SECOND
DISK_FULL_ATTEMPTS: Final = 20
MOST_EXPORTS: Final = len(EXPORT_TYPES) * len(EXPORT_FORMATS)  # one of each
MOST_MESSAGES: Final = 3


class _Payload(Struct, frozen=True):
    job: int


class FinishHandler:
    """The handler of finish tasks."""

    def __init__(self, parts: ExportParts, retry: RetryPolicy | None = None) -> None:
        self._parts = parts
        self._database = parts.database
        self._retry = retry or RetryPolicy()

    async def __call__(self, task: Task, info: JobInfo, context: Context) -> Outcome:
        identity = msgspec.json.decode(task.payload, type=_Payload).job
        try:
            job = await self._database.read(lambda conn: get_job(conn, identity))
        except JobNotFound:  # deleted: nobody waits for its exports
            return _outcome(task, (EndJob(identity),))
        sources = await self._database.read(lambda conn: sources_of(conn, identity))
        effects: tuple[Effect, ...] = ()
        if _listed_completely(job, sources):
            effects = await self._find_removed(job, context)
        exports, problem = await self._export(job)
        if problem is not None:
            delay = self._again_in(task, problem)
            if delay is not None:
                log.warning("exports_later", job=public(identity), reason=str(problem))
                return Outcome(task.id, task.lane, task.claims, Verdict.RETRY, delay=delay)
            log.error("exports_failed", job=public(identity), reason=str(problem))
        if all(source.state not in UNREAD for source in sources):
            await self._clear(identity)
        return _outcome(task, (*effects, *exports, EndJob(identity, _message(job, sources, problem))))

    async def _find_removed(self, job: Job, context: Context) -> tuple[Effect, ...]:
        """Write rows of the diff for what earlier lists had and this one has not. What is to be done when the
        job ends: from then on its own listing takes the place of those kept of deleted jobs."""
        place = await self._database.read(lambda conn: last_change(conn, job.id, REMOVED_FROM)) + 1
        earlier = await self._database.read(lambda conn: listings_before(conn, job.definition, job.id))
        for listed_by in earlier:
            after: int | None = None
            more = True
            while more:
                after, snapshots = await self._database.read(
                    partial(
                        absent,
                        listed_by=listed_by,
                        job=job.id,
                        target=job.target,
                        after=after,
                        limit=CHUNK,
                    )
                )
                more = after is not None
                if not snapshots:
                    continue
                now = clock.now()
                changes: list[Change] = []
                for snapshot in snapshots:
                    changes.append(removed(snapshot, place, now))
                    place += 1
                await context.emit([SaveChanges(job.id, job.target, tuple(changes))])
        kept = await self._database.read(lambda conn: kept_listings(conn, job.definition, job.id))
        return (ForgetListings(tuple(kept)),) if kept else ()

    async def _export(self, job: Job) -> tuple[list[SaveExport], Exception | None]:
        """All exports of the job, those of its options and those that it has by now, as far as they could be
        made; and what went wrong last."""
        wanted = exports_of(msgspec.json.decode(job.options, type=JobOptions).exports)
        made = await self._database.read(lambda conn: list_exports(conn, job.id, None, MOST_EXPORTS))
        # What somebody has made of the job while it ran is of less than it has now.
        before = [(export.type, export.format) for export in reversed(made)]
        exports: list[SaveExport] = []
        problem: Exception | None = None
        for kind, format in dict.fromkeys([*wanted, *before]):
            try:
                exports.append(await make_export(self._parts, job.id, kind, format))
            except StoreBusy:  # the database is away: the exports can wait until it is back
                raise
            except Exception as error:  # one export that cannot be made must not keep the others away
                problem = error
        return exports, problem

    async def _clear(self, job: int) -> None:
        """Delete what the plan had put aside; a store that cannot does not keep the job from its end."""
        try:
            await self._parts.objects.delete_prefix(plan_prefix(job))
        except FykeError as error:
            log.warning("plan_not_cleared", job=public(job), reason=error.message)

    def _again_in(self, task: Task, problem: Exception) -> int | None:
        if isinstance(problem, DiskFull):
            return DISK_FULL_WAIT if task.attempt < DISK_FULL_ATTEMPTS else None
        if isinstance(problem, Invalid):  # a format that cannot be written here: no attempt will help
            return None
        return retry_delay(
            ErrorClass.INTERNAL,
            task.attempt,
            self._retry,
            random.random(),  # noqa: S311 - jitter
        )


def _listed_completely(job: Job, sources: list[SourceState]) -> bool:
    """Whether what the job does not list is really gone: its list was read to its end, it was neither
    stopped nor cut short, and it is a list. Links that were followed are none."""
    if not job.planned or job.stop is not None or job.close_reason is not None or not job.total:
        return False
    return read_whole(sources) and is_list(job.source_kind, sources)


def _message(job: Job, sources: list[SourceState], problem: Exception | None) -> str | None:
    parts = []
    if problem is not None:
        parts.append(f"exports could not be written: {problem}")
    unread = [source for source in sources if source.state in ("failed", "cut")]
    if unread:
        shown = [source.message or source.location for source in unread[:MOST_MESSAGES]]
        more = f" and {len(unread) - len(shown)} more" if len(unread) > len(shown) else ""
        parts.append(f"not read completely: {'; '.join(shown)}{more}")
    elif job.planned and not job.total and job.stop is None:
        parts.append(f"there is no URL in {job.source}")
    return "; ".join(parts) or None


def _outcome(task: Task, effects: tuple[Effect, ...]) -> Outcome:
    return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED, effects)
