"""What commands print: progress and prose on standard error, results on standard output."""

import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
)
from rich.text import Text

from fyke.core import clock, ids
from fyke.store.jobs import Job

__all__ = ["console", "moment", "print_json", "print_rows", "progress_bar", "say", "summary", "tell_skipped"]

console = Console(stderr=True, highlight=False, soft_wrap=True)
LEAST_CELL = 6
ROOM = 3
WIDE = 120  # from here on a table shows all of its columns
# All that a terminal obeys instead of showing it, and what turns the direction of the text after it.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MARK = "\N{REPLACEMENT CHARACTER}"


def say(text: str) -> None:
    """A result in words. What a page or an address has in it may steer a terminal: it is shown as a mark."""
    print(CONTROL.sub(MARK, text), flush=True)


def tell_skipped(lines: Sequence[tuple[int, str]], count: int) -> None:
    """Say which lines of a list were passed over and why: the first of them, whoever reads the result."""
    for number, reason in lines:
        console.print(f"line {number} skipped: {reason}", markup=False)
    if count > len(lines):
        console.print(f"{count - len(lines)} more lines skipped", markup=False)


class TimeColumn(ProgressColumn):
    """How long it has taken, and how long it will."""

    def render(self, task: Task) -> Text:
        spent = _clock(task.finished_time if task.finished else task.elapsed)
        left = "" if task.finished or task.time_remaining is None else f", {_clock(task.time_remaining)} left"
        return Text(spent + left, style="cyan")


def _clock(seconds: float | None) -> str:
    minutes, rest = divmod(int(seconds or 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


class RateColumn(ProgressColumn):
    """Pages a second, as seen lately."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        shown = f"{speed:,.0f}/s" if (speed or 0) >= 10 else f"{speed:.1f}/s" if speed else ""
        return Text(shown, style="cyan")


class Bar(Progress):
    """Leaves room at the end of the line for the ^C that a terminal writes there: in a full line it would
    begin another, and the bar would be there twice."""

    def get_renderables(self) -> Iterable[RenderableType]:
        for shown in super().get_renderables():
            yield Constrain(shown, max(1, console.width - ROOM))


def progress_bar() -> Progress:
    return Bar(
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        RateColumn(),
        TimeColumn(),
        console=console,
        transient=False,
        speed_estimate_period=10,
    )


def print_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table is a result: it goes to standard output, whole where that is a file. On a terminal the widest
    columns give way until it fits. A name with `=` is never cut (an id is there to be copied), one with `+`
    is left out where there is little room, and named below the table."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    shown = [i for i, name in enumerate(columns) if name[0] != "+" or width is None or width >= WIDE]
    lines = [[columns[i].lstrip("=+") for i in shown]]
    lines += [[_cell(row[i]) for i in shown] for row in rows]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(shown))]
    if width is not None:
        _fit(widths, width, [columns[i][0] == "=" for i in shown])
    for line in lines:
        cells = [_cut(cell, widths[i]) for i, cell in enumerate(line)]
        say("  ".join(cells).rstrip())
    left_out = [name.lstrip("=+") for i, name in enumerate(columns) if i not in shown]
    if left_out:
        console.print(
            f"No room for: {', '.join(left_out)} (a wider terminal or --json shows more)", markup=False
        )


def _cell(value: object) -> str:
    return "" if value is None else CONTROL.sub(MARK, " ".join(str(value).split()))


def _fit(widths: list[int], width: int, whole: Sequence[bool]) -> None:
    while sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max((w, i) for i, w in enumerate(widths) if not whole[i])[1]
        if widths[widest] <= LEAST_CELL:
            return
        widths[widest] -= 1


def _cut(text: str, width: int) -> str:
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, width)


def moment(text: str | None) -> str:
    """A time of the API, short."""
    return (text or "")[:19].replace("T", " ")


def print_json(value: Any) -> None:
    text = msgspec.json.encode(value).decode()
    sys.stdout.write(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")
    sys.stdout.flush()


def summary(job: Job, began: int | None = None, before: int = 0) -> dict[str, Any]:
    """A job as one object. Times and rates are those of its last run, if that is known to have begun later
    than the job, and after so many pages."""
    began = began or job.started_at or job.created_at
    seconds = max(0, (job.finished_at or clock.now()) - began) / clock.SECOND
    done = job.succeeded + job.failed + job.skipped - before
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
