"""`fyke check`: may a URL be fetched, and if not, why not?"""

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from fyke.cli.exits import Exit
from fyke.cli.run import configured, run
from fyke.cli.show import print_json
from fyke.core.errors import Invalid
from fyke.egress.guard import Guard, Verdict
from fyke.settings import Settings

__all__ = ["register"]

AT_ONCE = 100


def check(
    urls: Annotated[list[str] | None, typer.Argument(help="URLs.")] = None,
    file: Annotated[
        Path | None, typer.Option("--in", help="A file with a URL a line; - is standard input.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object a line: url, allowed, reason.")
    ] = False,
) -> int:
    """Say what the egress guard thinks of URLs: allowed or not, and why. Ends with 3 if any is refused."""
    settings = configured(quiet=True)
    asked = [*(urls or []), *(_lines(file) if file else [])]
    if not asked:
        raise Invalid("give URLs, or a file of them with --in", field="URLS")
    return run(_check(settings, asked, as_json))


def _lines(file: Path) -> list[str]:
    if str(file) == "-":
        return [line.strip() for line in sys.stdin if line.strip()]
    if not file.is_file():
        raise Invalid(f"there is no file {str(file)!r}", field="--in")
    text = file.read_text("utf-8", "replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


async def _check(settings: Settings, urls: list[str], as_json: bool) -> int:
    guard = Guard(settings.egress_allow)
    refused = 0
    for start in range(0, len(urls), AT_ONCE):
        some = urls[start : start + AT_ONCE]
        for url, verdict in zip(some, await asyncio.gather(*map(guard.explain, some)), strict=True):
            refused += not verdict.allowed
            _print(url, verdict, as_json)
    return Exit.REFUSED if refused else Exit.DONE


def _print(url: str, verdict: Verdict, as_json: bool) -> None:
    if as_json:
        found = {"url": url, "allowed": verdict.allowed, "reason": verdict.reason}
        print_json({**found, "addresses": list(verdict.addresses)})
    else:
        print(f"{'allowed' if verdict.allowed else 'refused'}  {url}  {verdict.reason}")


def register(app: typer.Typer) -> None:
    app.command()(check)
