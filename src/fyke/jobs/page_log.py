"""What the log says of pages. Nothing that was read from one is ever in it."""

import logging
from typing import Any, Final

import msgspec
import structlog

from fyke.core.clock import iso
from fyke.core.ids import public
from fyke.core.outcome import JobLog, PageRow
from fyke.core.page import Page
from fyke.core.record import Product, Record
from fyke.core.task import Task
from fyke.jobs.answers import Stopped
from fyke.jobs.follow import MOST_DEPTH

__all__ = ["PageLog"]

MOST_TOLD: Final = 1000
FIELDS: Final = tuple(f.name for f in msgspec.structs.fields(Product) if f.name != "attrs")


class PageLog:
    """One line for each page that has come to its end, and what keeps a job from its pages."""

    def __init__(self) -> None:
        self._log: Any = structlog.get_logger("fyke.page").bind()
        self._left: dict[Any, None] = {}  # jobs of which it has been told that links were left
        self._waits: dict[Any, None] = {}  # jobs, and for which robots.txt they have been told that they wait

    def completed(self, task: Task, domain: str, page: Page, record: Record) -> None:
        if not self._log.is_enabled_for(logging.INFO):
            return
        fields = [name for name in FIELDS if getattr(record.data, name)]
        self._log.info(
            "page_completed",
            job=public(task.job),
            task=public(task.id),
            domain=domain,
            url=task.url,
            duration_ms=int(page.elapsed * 1000),
            fields_extracted=fields,
            completeness=round(len(fields) / len(FIELDS), 2),
        )

    def stopped(self, task: Task, domain: str, stopped: Stopped, row: PageRow) -> None:
        tell = self._log.info if stopped.skipped else self._log.error
        tell(
            f"page_{row.state}",
            job=public(task.job),
            task=public(task.id),
            domain=domain,
            url=task.url,
            proxy=row.proxy_used,
            error_class=stopped.error_class,
            reason=stopped.message,
            attempts=task.attempt,
        )

    def links_left(self, task: Task, domain: str) -> None:
        """Links are not followed any deeper: told once for each job."""
        if _is_first(self._left, task.job):
            self._log.warning(
                "links_not_followed",
                job=public(task.job),
                domain=domain,
                url=task.url,
                reason=f"more than {MOST_DEPTH} links away from where the crawl began",
            )

    def waits(self, task: Task, domain: str, stopped: Stopped) -> tuple[JobLog, ...]:
        """A robots.txt was asked for in vain: told once for each job whose pages wait for it."""
        if not _is_first(self._waits, (task.job, domain, stopped.until)):
            return ()
        return (JobLog(f"{domain}: {stopped.message}; asked again at {iso(stopped.until)}"),)


def _is_first(told: dict[Any, None], what: Any) -> bool:
    """Whether it has not been told yet; of many, the first are forgotten."""
    if what in told:
        return False
    told[what] = None
    if len(told) > MOST_TOLD:
        told.pop(next(iter(told)))
    return True
