"""`fyke version`."""

from typing import Annotated

import typer

from fyke import __version__
from fyke.cli.show import print_json

__all__ = ["register"]


def version(
    as_json: Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")] = False,
) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": __version__})
    else:
        print(__version__)


def register(app: typer.Typer) -> None:
    app.command()(version)
