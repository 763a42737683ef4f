"""`fyke bench`: own figures on this machine."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, cast

import typer

from fyke.cli.run import configured, run
from fyke.cli.show import console, print_json
from fyke.measure.crawl import CrawlLoad, measure_crawl
from fyke.measure.exports import ExportLoad, measure_exports
from fyke.measure.latency import LatencyLoad, measure_latency
from fyke.measure.memory import MemoryLoad, measure_memory
from fyke.measure.queue import QueueLoad, measure_queue
from fyke.measure.server import Serve

__all__ = ["register"]

bench = typer.Typer(help="Measure Fyke on this machine.", no_args_is_help=True)


@bench.command("queue")
def bench_queue(
    database: Annotated[str, typer.Option(help="Its URL; empty: SQLite in a temporary directory.")] = "",
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 100_000,
    lanes: Annotated[int, typer.Option(min=1, help="Over how many lanes.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks run at once.")] = 400,
    pending: Annotated[
        int,
        typer.Option(min=0, help="Tasks that stay behind; beyond 10,000, compared with a run at 10,000."),
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """Claim and settle tasks that do nothing."""
    configured(quiet=True)
    load = QueueLoad(
        database_url=database, tasks=tasks, lanes=lanes, concurrency=concurrency, pending=pending
    )
    _print(run(measure_queue(load)), as_json)


@bench.command("crawl")
def bench_crawl(
    url_list: Annotated[
        Path | None,
        typer.Option(help="A file with a URL a line, on servers of your own; without it, one is started."),
    ] = None,
    pages: Annotated[int, typer.Option(min=1, help="How many pages of the server that is started.")] = 20_000,
    database: Annotated[str, typer.Option(help="Its URL; empty: SQLite in a temporary directory.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 64,
    out: Annotated[Path | None, typer.Option(help="Where to put the exports, as JSON lines.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """Crawl a list durably: guard, robots and budgets on, product and SEO fields extracted."""
    settings = configured(quiet=True)
    load = CrawlLoad(url_list=url_list, pages=pages, database_url=database, concurrency=concurrency, out=out)
    _print(run(measure_crawl(settings, load)), as_json)


@bench.command("exports")
def bench_exports(
    database: Annotated[str, typer.Option(help="Its URL; none: SQLite in a temporary directory.")] = "",
    rows: Annotated[int, typer.Option(min=1, help="Rows of 16 columns.")] = 200_000,
    rounds: Annotated[int, typer.Option(min=1, help="How often each; the median counts.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """Export a large job from the store as CSV, JSON lines and XLSX."""
    settings = configured(quiet=True)
    load = ExportLoad(database_url=database, rows=rows, rounds=rounds)
    _print(run(measure_exports(settings, load)), as_json)


@bench.command("latency")
def bench_latency(
    database: Annotated[str, typer.Option(help="Its URL; none: SQLite in a temporary directory.")] = "",
    samples: Annotated[int, typer.Option(min=1, help="How many times.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """From submit to start while nothing else goes on: the queue alone, and through the API."""
    settings = configured(quiet=True)
    load = LatencyLoad(database_url=database, samples=samples)
    _print(run(measure_latency(settings, _server(), load)), as_json)


@bench.command("memory")
def bench_memory(
    database: Annotated[str, typer.Option(help="Its URL; none: SQLite in a temporary directory.")] = "",
    urls: Annotated[int, typer.Option(min=1, help="URLs of the job's sitemaps.")] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """Memory of the server, idle and during a large job, whose pages are planned and stored, not fetched."""
    settings = configured(quiet=True)
    load = MemoryLoad(database_url=database, urls=urls)
    _print(run(measure_memory(settings, _server(), load)), as_json)


def _server() -> Serve:
    """Loaded when it is needed: the other measurements are not to have it in their memory."""
    return cast(Serve, import_module("fyke.cli.server").Server)


def _print(found: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        console.print(f"{name.replace('_', ' '):>24}  {value}")


def register(app: typer.Typer) -> None:
    app.add_typer(bench, name="bench")
