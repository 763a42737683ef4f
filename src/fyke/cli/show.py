"""What commands print: progress and prose on standard error, results on standard output."""

import sys
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from fyke.core import clock, ids
from fyke.store.jobs import Job

__all__ = ["console", "print_json", "print_table", "progress_bar", "summary"]

console = Console(stderr=True, highlight=False, soft_wrap=True)


class RateColumn(ProgressColumn):
    """Pages a second, as seen lately."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="cyan")


def progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=False,
        speed_estimate_period=10,
    )


def print_table(table: Table) -> None:
    """A table is a result: it goes to standard output, whole, however wide the terminal is."""
    Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 10_000).print(table)


def print_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def summary(job: Job) -> dict[str, Any]:
    """A job as one object."""
    seconds = ((job.finished_at or clock.now()) - (job.started_at or job.created_at)) / clock.SECOND
    done = job.succeeded + job.failed + job.skipped
    return {
        "job": ids.public(job.id),
        "state": job.state,
        "close_reason": job.close_reason,
        "error_message": job.error_message,
        "source": job.source,
        "domain": job.domain,
        "total": job.total,
        "succeeded": job.succeeded,
        "failed": job.failed,
        "skipped": job.skipped,
        "warnings": job.warnings,
        "bytes": job.bytes,
        "seconds": round(seconds, 3),
        "pages_per_second": round(done / seconds, 1) if seconds > 0 else 0.0,
    }
