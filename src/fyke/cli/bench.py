"""`fyke bench`: own figures on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.run import configured, run
from fyke.cli.show import console, print_json
from fyke.measure.crawl import CrawlLoad, measure_crawl
from fyke.measure.queue import QueueLoad, measure_queue

__all__ = ["register"]

bench = typer.Typer(help="Measure Fyke on this machine.", no_args_is_help=True)


@bench.command("queue")
def bench_queue(
    database: Annotated[str, typer.Option(help="Its URL; empty: SQLite in a temporary directory.")] = "",
    tasks: Annotated[int, typer.Option(min=1, help="How many tasks.")] = 100_000,
    lanes: Annotated[int, typer.Option(min=1, help="Over how many lanes.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Tasks run at once.")] = 400,
    pending: Annotated[int, typer.Option(min=0, help="Tasks that stay behind in the queue.")] = 0,
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
    url_list: Annotated[Path, typer.Option(help="A file with a URL a line, on servers of your own.")],
    database: Annotated[str, typer.Option(help="Its URL; empty: SQLite in a temporary directory.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 64,
    out: Annotated[Path | None, typer.Option(help="Where to put the exports, as JSON lines.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object.")] = False,
) -> None:
    """Crawl a list durably: guard, robots and budgets on, product and SEO fields extracted."""
    settings = configured(quiet=True)
    load = CrawlLoad(urls=url_list, database_url=database, concurrency=concurrency, out=out)
    _print(run(measure_crawl(settings, load)), as_json)


def _print(found: dict[str, object], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        console.print(f"{name.replace('_', ' '):>24}  {value}")


def register(app: typer.Typer) -> None:
    app.add_typer(bench, name="bench")
