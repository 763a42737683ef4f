"""From the runs of all rounds to a table with medians, spread and ratios, as text and as a document."""

from collections.abc import Mapping, Sequence
from statistics import median

from msgspec import Struct

from bench import figures
from bench.figures import Found
from bench.systems import CONCURRENCY, System

__all__ = ["Measured", "Report", "document", "table"]


class Measured(Struct, frozen=True):
    """One system's figures over the rounds; `failed` says why there are none."""

    rates: list[float]
    core_shares: list[float]
    max_mb: float
    version: str
    size: int
    same: str = ""
    failed: str = ""

    @property
    def rate(self) -> float:
        return median(self.rates)

    @property
    def spread(self) -> float:
        """The distance of the extremes, as a part of the median."""
        return (max(self.rates) - min(self.rates)) / self.rate


class Ratio(Struct, frozen=True):
    """Something that is aimed at: one system against another, or against a figure."""

    one: str
    other: str
    aim: float
    text: str


class Rate(Struct, frozen=True):
    """A rate that is aimed at."""

    one: str
    aim: float


RATIOS = (
    Ratio("fyke", "scrapy-jobdir", 12, "Fyke / Scrapy with JOBDIR"),
    Ratio("fyke", "crawlee-sql", 15, "Fyke / crawlee-python, SQL storage"),
    Ratio("fyke", "crawlee-file", 15, "Fyke / crawlee-python, file storage"),
    Ratio("fyke", "bare", 0.6, "Fyke / bare client"),
    Ratio("fyke-queue-sqlite", "bullmq", 1, "Fyke on SQLite / BullMQ"),
    Ratio("fyke-queue-postgres", "bullmq", 1, "Fyke on PostgreSQL / BullMQ"),
    Ratio("fyke-queue-postgres", "procrastinate", 20, "Fyke on PostgreSQL / Procrastinate"),
)
RATES = (
    Rate("fyke-queue-sqlite", 30_000),
    Rate("fyke-queue-postgres", 20_000),
    Rate("fyke-queue-mariadb", 10_000),
)


class Report(Struct, frozen=True):
    """Everything a table is made of. `measured` is by the system's name; `own` are Fyke's own figures."""

    day: str
    rounds: int
    machine: Mapping[str, str]
    systems: tuple[System, ...]
    measured: Mapping[str, Measured]
    own: Sequence[Found] = ()


def _rows(report: Report, kind: str) -> list[list[str]]:
    unit = "pages/s" if kind == "crawl" else "tasks/s"
    rows = [["", "version", unit, "lowest – highest", "spread", "of a core", "memory"]]
    for system in report.systems:
        found = report.measured.get(system.name)
        if system.kind != kind or found is None:
            continue
        if found.failed:
            rows.append([system.label, "", "not measured", "", "", "", ""])
            continue
        rows.append(
            [
                system.label,
                found.version,
                f"{found.rate:,.0f}",
                f"{min(found.rates):,.0f} – {max(found.rates):,.0f}",
                f"{found.spread:.0%}",
                f"{median(found.core_shares):.0%}",
                f"{found.max_mb:,.0f} MB",
            ]
        )
    return rows


def _ratios(report: Report) -> list[list[str]]:
    rows = [["", "median", "lowest – highest in a round", "aim", ""]]
    usable = {name: found for name, found in report.measured.items() if found.rates}
    for ratio in RATIOS:
        if ratio.one not in usable or ratio.other not in usable:
            continue
        one, other = usable[ratio.one], usable[ratio.other]
        value = one.rate / other.rate
        each = [mine / theirs for mine, theirs in zip(one.rates, other.rates, strict=False)]
        span = f"{min(each):.2f} – {max(each):.2f}"
        rows.append([ratio.text, f"{value:.2f}", span, f"≥ {ratio.aim:g}", _met(value, ratio.aim)])
    for rate in RATES:
        if rate.one in usable:
            value = usable[rate.one].rate
            label = next(system.label for system in report.systems if system.name == rate.one)
            rows.append(
                [f"{label}, tasks/s", f"{value:,.0f}", "", f"≥ {rate.aim:,.0f}", _met(value, rate.aim)]
            )
    return rows


def _met(value: float, aim: float) -> str:
    return "met" if value >= aim else "missed"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(cells)
        )
        for cells in (zip(row, widths, strict=True) for row in rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def table(report: Report) -> str:
    """The report for a terminal."""
    parts = []
    for title, rows in _sections(report):
        if len(rows) > 1:
            parts.append(f"{title}\n{_aligned(rows)}")
    parts += [f"{name} {text}" for name, text in _notes(report)]
    return "\n\n".join(parts)


def _notes(report: Report) -> list[tuple[str, str]]:
    """What is to be said of single systems besides their figures."""
    notes = []
    for system in report.systems:
        found = report.measured.get(system.name)
        if found and found.failed:
            notes.append((f"{system.label} ({system.kind}) was not measured:", found.failed))
        elif found and found.same:
            notes.append((f"{system.label} beside `fyke crawl`:", found.same))
    return notes


OWN = "Fyke alone"


def _sections(report: Report) -> list[tuple[str, list[list[str]]]]:
    return [
        ("Crawl: fetched, extracted, stored", _rows(report, "crawl")),
        ("Queue: no-op tasks", _rows(report, "queue")),
        ("Ratios and aims", _ratios(report)),
        (OWN, figures.rows(report.own)),
    ]


def _markdown(rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
    head, *body = rows
    lines = [head, ["---"] + ["---:" if right else "---"] * (len(head) - 1), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


HOW = """One command: `make bench`. It sets up the peers in an environment of their own under `bench/`, starts
private servers, and runs everybody in turn on the same pages, {rounds} rounds, each round beginning with
another one. All servers (nginx, the databases, Redis) are pinned to one core, whoever is measured to another.

The pages: 200 different ones of about 30 KB with JSON-LD, meta, Open Graph and Twitter tags, breadcrumbs,
galleries, reviews and navigation, served uncompressed by nginx, told apart by a query beyond the first 200.
A rate is pages (or tasks) by the time from having the list of URLs to the last result being stored, start-up
of the interpreter not counted. {concurrency} requests at a time for everybody. Slower systems get fewer
pages, so that a run lasts 10 to 25 seconds. Fyke runs with its egress guard, robots.txt and budgets on; the
peers run without robots.txt, which is their default. Everybody logs warnings only. Queues get their tasks
beforehand and are timed working them off.

The peers' settings are the fastest we found for them: uvloop for Scrapy and crawlee-python, no session pool
in crawlee-python, 10 tasks at a time in Procrastinate, 200 in BullMQ, everything else as it comes.

*Lowest – highest* and *spread* are over the rounds. *Of a core* is the CPU time used by the time taken: well
below 100 % the client waited, for a server or the disk. *Memory* is the largest resident size of the
process, and of those it started, if it did. What limits the figures that miss their aim, and what was tried,
stands in [decisions](decisions.md), "What limits a crawl"."""

HOW_ALONE = """One run each, after the servers and the peers have been stopped, on all cores, on SQLite with
an fsync for each commit. Each line's command measures it again, on any machine.

*Claim*: the time of each claim while one worker works off tasks that do nothing, in the same database with
few and with many others pending. *Idle latency*: nothing else goes on; from before the transaction that adds
a task to the start of its handler, and from before `POST /api/v1/jobs` to the start of the page's handler,
one process being client and server. *Memory*: the resident size of a process that is the whole server, API
included, without a browser. The job of a million URLs reads them from sitemaps fetched over HTTP, claims and
settles each with a page's rows and snapshot, and writes its exports; its pages themselves are made up, not
fetched. *Exports*: from the store to a registered object, 16 columns, each in a process of its own, the
median of three."""


def document(report: Report) -> str:
    """The report as docs/benchmarks.md."""
    parts = [
        "# Benchmarks",
        "*Made by `make bench`; figures are as measured, whichever way they fall.*",
        HOW.format(rounds=report.rounds, concurrency=CONCURRENCY),
    ]
    for title, rows in _sections(report):
        if len(rows) > 1:
            intro = HOW_ALONE + "\n\n" if title == OWN else ""
            parts.append(f"## {title}\n\n{intro}{_markdown(rows)}")
    parts.append("## What survives a crash\n\n" + _markdown(_survival(report), right=False))
    failed = [f"{name} {text}" for name, text in _notes(report) if "not measured" in name]
    parts += failed
    parts.append("## The same columns?\n\n" + SAME + "\n\n" + _markdown(_same(report), right=False))
    machine = [["", ""], *([name, value] for name, value in report.machine.items())]
    parts.append(f"## Machine and versions\n\nMeasured on {report.day}.\n\n{_markdown(machine, right=False)}")
    return "\n\n".join(parts) + "\n"


SAME = """Each crawler extracts all columns of the `full` and `seo` exports with its own tools: parsel for
Scrapy and for crawlee-python, the faster of the two parsers that crawlee-python ships (the other is Beautiful
Soup), with impit, its fastest client. The rows of every measured run, Fyke's own included,
are compared with what `fyke crawl` exports of the same URLs: numbers by value, JSON by content, all else as
text, the time of fetching left out; and each run has to have a row for each of its URLs."""


def _survival(report: Report) -> list[list[str]]:
    head = ["", "pages or tasks a run", "durability"]
    systems = [system for system in report.systems if system.name in report.measured]
    return [head] + [
        [f"{system.label} ({system.kind})", f"{report.measured[system.name].size:,}", system.survives]
        for system in systems
    ]


def _same(report: Report) -> list[list[str]]:
    rows = [["", "beside `fyke crawl`"]]
    for system in report.systems:
        found = report.measured.get(system.name)
        if found and found.same:
            rows.append([system.label, found.same])
    return rows
