"""`fyke check`: may a URL be fetched, and if not, why not?"""

import asyncio
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from fyke.cli.exits import Exit
from fyke.cli.run import configured, run
from fyke.cli.show import print_json
from fyke.core.errors import Invalid, InvalidUrl
from fyke.core.secrets import hide_login
from fyke.core.urls import canonical
from fyke.egress.guard import Guard, Verdict, how_to_allow
from fyke.settings import Settings, no_file

__all__ = ["register"]

AT_ONCE = 100


def check(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="URL...", help="URLs; - is standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--in", help="A file with a URL a line; - is standard input.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object a line: url, allowed, reason.")
    ] = False,
) -> int:
    """Say what the egress guard thinks of URLs: allowed or not, and why. Ends with 2 if any is no URL,
    else with 3 if any is refused."""
    settings = configured(quiet=True)
    if not urls and file is None:
        raise Invalid("give URLs, a file of them with --in, or - for standard input", field="URLS")
    if file is not None and str(file) != "-" and not file.is_file():
        raise Invalid(no_file(file), field="--in")
    return run(_check(settings, _asked(urls or [], file), as_json))


def _asked(urls: list[str], file: Path | None) -> Iterator[str]:
    for url in urls:
        if url == "-":
            yield from _lines(sys.stdin.buffer)
        else:
            yield url
    if file is not None and str(file) == "-":
        yield from _lines(sys.stdin.buffer)
    elif file is not None:
        with file.open("rb") as opened:
            yield from _lines(opened)


def _lines(opened: BinaryIO) -> Iterator[str]:
    """Lines end as those of files do; what only text knows as an end of line is part of a URL. Lines that
    are blank or start with # are none, as in the lists that are crawled."""
    for line in opened:
        text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if text and text[0] != "#":
            yield text


async def _check(settings: Settings, urls: Iterator[str], as_json: bool) -> int:
    guard = Guard(settings.egress_allow)
    wrong, refused = 0, 0
    while some := list(islice(urls, AT_ONCE)):
        for url, verdict in zip(some, await asyncio.gather(*map(guard.explain, some)), strict=True):
            is_url = verdict.allowed or _is_url(url)
            wrong += not is_url
            refused += is_url and not verdict.allowed
            _print(url, verdict, as_json, "refused" if is_url else "no URL ")
    if wrong:
        return Exit.USAGE
    return Exit.REFUSED if refused else Exit.DONE


def _is_url(text: str) -> bool:
    """Whether it is something that could be fetched, if the guard let it."""
    try:
        return bool(canonical(text))
    except InvalidUrl:
        return False


def _print(url: str, verdict: Verdict, as_json: bool, otherwise: str) -> None:
    url = hide_login(url)
    if as_json:
        found = {"url": url, "allowed": verdict.allowed, "reason": verdict.reason}
        print_json({**found, "addresses": list(verdict.addresses)})
    else:
        reason = f"{verdict.reason}{how_to_allow(verdict.reason)}"
        print(f"{'allowed' if verdict.allowed else otherwise}  {url}  {reason}")


def register(app: typer.Typer) -> None:
    app.command()(check)
