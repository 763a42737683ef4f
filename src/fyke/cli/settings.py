"""`fyke settings`: what can be set, and what is."""

from typing import Annotated

import typer
from rich.table import Table

from fyke.cli.run import configured
from fyke.cli.show import print_json, print_table
from fyke.logs import redact
from fyke.settings import described

__all__ = ["register"]


def settings(
    as_json: Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")] = False,
) -> None:
    """Show every setting: its value, its default, what it is for."""
    found = configured(quiet=True)
    rows = [
        {
            "name": one.name,
            "value": redact(str(getattr(found, one.name.removeprefix("FYKE_").lower()))),
            "default": one.default,
            "description": one.description,
        }
        for one in described()
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("setting", "value", "default", "what for", box=None)
    for row in rows:
        table.add_row(row["name"], row["value"], row["default"], row["description"])
    print_table(table)


def register(app: typer.Typer) -> None:
    app.command()(settings)
