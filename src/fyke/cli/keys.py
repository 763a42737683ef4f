"""`fyke keys`: who may use the API."""

from typing import Annotated, Any

import typer

from fyke.cli.api import reach
from fyke.cli.arguments import KeyId, listed
from fyke.cli.run import configured, run
from fyke.cli.show import console, moment, print_json, print_rows, say

__all__ = ["register"]

keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
READ = ["read"]  # what a key may do if nothing else is said


async def _call(method: str, path: str, body: Any = None) -> Any:
    async with reach(configured(quiet=True)) as api:
        return await api.call(method, path, body)


@keys.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str], typer.Option(help="admin, submit, read or worker, with commas or given again.")
    ] = READ,
    as_json: Json = False,
) -> None:
    """Make a key. Its token is shown this once."""
    found = run(_call("POST", "/keys", {"name": name, "scopes": listed(scope)}))
    if as_json:
        print_json(found)
    else:
        say(found["token"])
        console.print(f"Its id is {found['id']}, it may {', '.join(found['scopes'])}.", markup=False)


@keys.command("list")
def list_all(as_json: Json = False) -> None:
    """List keys, the newest first."""
    found = run(_call("GET", "/keys"))
    if as_json:
        print_json(found)
        return
    rows = [
        (k["id"], k["name"], ",".join(k["scopes"]), moment(k["created_at"]), moment(k["last_used_at"]))
        for k in found
    ]
    print_rows(("=id", "name", "scopes", "+created", "last used"), rows)


@keys.command("revoke")
def revoke(key: KeyId, as_json: Json = False) -> None:
    """Accept the key no more."""
    found = run(_call("DELETE", f"/keys/{key}"))
    if as_json:
        print_json(found)
    else:
        say("Revoked.")


def register(app: typer.Typer) -> None:
    app.add_typer(keys, name="keys")
