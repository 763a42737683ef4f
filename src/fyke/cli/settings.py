"""`fyke settings`: what can be set, and what is."""

from typing import Annotated

import typer

from fyke.cli.run import configured
from fyke.cli.show import print_json, say
from fyke.core.secrets import redact
from fyke.settings import described, spelled

__all__ = ["register"]


def settings(
    as_json: Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")] = False,
) -> None:
    """Show every setting: its value, its default, what it is for."""
    found = configured(quiet=True)
    rows = [
        {
            "name": one.name,
            "value": redact(spelled(getattr(found, one.name.removeprefix("FYKE_").lower()))),
            "default": one.default,
            "description": one.description,
        }
        for one in described()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        changed = row["value"] != row["default"]
        default = f"   (default: {row['default'] or 'empty'})" if changed else ""
        say(f"{row['name']}={row['value']}{default}\n    {row['description']}")


def register(app: typer.Typer) -> None:
    app.command()(settings)
