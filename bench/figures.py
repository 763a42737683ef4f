"""Fyke's own figures: what is aimed at, which command measures it, and what came out."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from bench.environment import ROOT
from bench.measure import RunFailed, run
from bench.systems import FYKE

__all__ = ["FIGURES", "Figure", "Found", "measure", "rows"]


class Figure(Struct, frozen=True):
    """Something that is not to be more than `most`: the value `name` of what a command prints."""

    label: str
    name: str
    most: float
    unit: str = ""


class Command(Struct, frozen=True):
    """A command of `fyke bench`, how many seconds it may take, and what is looked at."""

    words: str
    limit: float
    figures: tuple[Figure, ...]


class Found(Struct, frozen=True):
    """A figure as measured; `failed` says why there is none."""

    figure: Figure
    command: str
    value: float = 0.0
    failed: str = ""

    @property
    def met(self) -> bool:
        return not self.failed and self.value <= self.figure.most


FIGURES = (
    Command(
        "queue --pending 10000000 --tasks 400000",
        900,
        (Figure("Claim, p99: 10 million pending / 10 thousand", "claim_p99_ratio", 1.5),),
    ),
    Command(
        "latency --samples 1000",
        180,
        (
            Figure("Idle latency, p99: the queue alone", "queue_p99_ms", 5, "ms"),
            Figure("Idle latency, p99: through the API", "api_p99_ms", 5, "ms"),
        ),
    ),
    Command(
        "memory",
        900,
        (
            Figure("Memory: server, idle", "idle_rss_mb", 150, "MB"),
            Figure("Memory: server with a job of 1,000,000 URLs", "job_max_rss_mb", 300, "MB"),
        ),
    ),
    Command(
        "exports",
        300,
        (
            Figure("Export of 200,000 rows, CSV", "csv_seconds", 2, "s"),
            Figure("Export of 200,000 rows, JSON lines", "jsonl_seconds", 1.5, "s"),
            Figure("Export of 200,000 rows, XLSX", "xlsx_seconds", 6, "s"),
            Figure("Memory: export as CSV", "csv_max_rss_mb", 150, "MB"),
            Figure("Memory: export as JSON lines", "jsonl_max_rss_mb", 150, "MB"),
            Figure("Memory: export as XLSX", "xlsx_max_rss_mb", 150, "MB"),
        ),
    ),
)


def measure(directory: Path, environment: Mapping[str, str]) -> list[Found]:
    """Run one command after the other, on all cores; nothing else is to be at work."""
    return [found for command in FIGURES for found in _measure(command, directory, environment)]


def _measure(command: Command, directory: Path, environment: Mapping[str, str]) -> Iterator[Found]:
    words = ["bench", *command.words.split(), "--json"]
    shown = f"fyke bench {command.words}"
    print(f"  {shown}", file=sys.stderr, flush=True)
    try:
        ran = run(
            [FYKE, *words],
            core=None,
            limit=command.limit,
            cwd=ROOT,
            log=directory / "figures.log",
            environment={**environment, "FYKE_DATA_DIR": str(directory / "data")},
        )
    except (RunFailed, OSError) as failure:
        print(f"    {failure}", file=sys.stderr, flush=True)
        yield from (Found(figure, shown, failed=str(failure)) for figure in command.figures)
        return
    for figure in command.figures:
        yield Found(figure, shown, float(ran.printed[figure.name]))


def rows(found: Sequence[Found]) -> list[list[str]]:
    """The table's rows."""
    head = ["", "measured", "aim", "", "command"]
    return [head, *(_row(one) for one in found)]


def _row(one: Found) -> list[str]:
    figure = one.figure
    unit = f" {figure.unit}" if figure.unit else ""
    aim = f"≤ {figure.most:g}{unit}"
    if one.failed:
        return [figure.label, "not measured", aim, one.failed, one.command]
    return [figure.label, f"{one.value:,.2f}{unit}", aim, "met" if one.met else "missed", one.command]
