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
from fyke.cli.show import print_json, say
from fyke.core.errors import Invalid, InvalidUrl
from fyke.core.secrets import hide_login
from fyke.core.urls import canonical, with_bytes
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
        text = line.decode("utf-8", "surrogateescape").removeprefix("\ufeff").strip()
        if text and text[0] != "#":
            yield text


async def _check(settings: Settings, urls: Iterator[str], as_json: bool) -> int:
    guard = Guard(settings.egress_allow)
    wrong, refused = 0, 0
    while some := list(islice(urls, AT_ONCE)):
        for url, found in zip(some, await asyncio.gather(*(_judge(guard, url) for url in some)), strict=True):
            wrong += isinstance(found, InvalidUrl)
            refused += isinstance(found, Verdict) and not found.allowed
            _print(hide_login(with_bytes(url)), found, as_json)
    if wrong:
        return Exit.USAGE
    return Exit.REFUSED if refused else Exit.DONE


async def _judge(guard: Guard, url: str) -> Verdict | InvalidUrl:
    """What the guard says, of what could be fetched if it let it."""
    try:
        canonical(url)
    except InvalidUrl as error:
        return error
    return await guard.explain(url)


def _print(url: str, found: Verdict | InvalidUrl, as_json: bool) -> None:
    verdict = Verdict(url, False, found.message) if isinstance(found, InvalidUrl) else found
    if as_json:
        shown = {"url": url, "allowed": verdict.allowed, "reason": verdict.reason}
        print_json({**shown, "addresses": list(verdict.addresses)})
    else:
        otherwise = "no URL " if found is not verdict else "refused"
        reason = f"{verdict.reason}{how_to_allow(verdict.reason)}"
        say(f"{'allowed' if verdict.allowed else otherwise}  {url}  {reason}")


def register(app: typer.Typer) -> None:
    app.command()(check)
