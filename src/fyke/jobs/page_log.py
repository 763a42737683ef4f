"""What the log says of pages. Nothing that was read from one is ever in it."""

import logging
from typing import Any, Final

import msgspec
import structlog

from fyke.core.ids import public
from fyke.core.outcome import PageRow
from fyke.core.page import Page
from fyke.core.record import Product, Record
from fyke.core.task import Task
from fyke.jobs.answers import Stopped
from fyke.jobs.follow import MOST_DEPTH

__all__ = ["PageLog"]

MOST_TOLD: Final = 1000
FIELDS: Final = tuple(f.name for f in msgspec.structs.fields(Product) if f.name != "attrs")


class PageLog:
    """A line for each page that has come to its end, and one for a job whose links are followed no deeper."""

    def __init__(self) -> None:
        self._log: Any = structlog.get_logger("fyke.page").bind()
        self._left: dict[int, None] = {}  # jobs of which it has been told that links were left

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
        if task.job not in self._left:
            self._left[task.job] = None
            self._left.pop(next(iter(self._left)) if len(self._left) > MOST_TOLD else -1, None)
            self._log.warning(
                "links_not_followed",
                job=public(task.job),
                domain=domain,
                url=task.url,
                reason=f"more than {MOST_DEPTH} links away from where the crawl began",
            )
