"""`fyke db`: the database's schema."""

from typing import Annotated

import typer

from fyke.cli.run import configured, run
from fyke.cli.show import print_json, say
from fyke.store.migrate import current, head
from fyke.wiring import bring_up

__all__ = ["register"]

db = typer.Typer(help="Look after the database's schema.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")]


@db.command("migrate")
def migrate_now(as_json: Json = False) -> None:
    """Bring the database to this version's schema; running it again changes nothing."""
    settings = configured(quiet=True)
    version = run(bring_up(settings))
    if as_json:
        print_json({"version": version})
    else:
        say(f"The database is at version {version}.")


@db.command("status")
def status(as_json: Json = False) -> None:
    """Say which version the database is at, and which one this Fyke knows."""
    settings = configured(quiet=True)
    found = {"version": run(current(settings.store_url)), "known": head()}
    if as_json:
        print_json(found)
    else:
        say(f"database: {found['version'] or 'empty'}; this Fyke: {found['known']}")


def register(app: typer.Typer) -> None:
    app.add_typer(db, name="db")
