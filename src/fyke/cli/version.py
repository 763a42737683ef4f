"""`fyke version`."""

import typer

from fyke import __version__

__all__ = ["register"]


def version() -> None:
    """Print the version."""
    print(__version__)


def register(app: typer.Typer) -> None:
    app.command()(version)
