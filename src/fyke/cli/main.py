"""`fyke`: the commands, and how they end.

A command's module is loaded when the command is asked for: nobody waits for what is not used.
"""

import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from fyke.cli.exits import Exit, exit_code
from fyke.core.errors import FykeError

__all__ = ["app", "main"]

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused by the guard, 4 partial, 5 stopped by a budget,"
    " 130 interrupted."
)

MODULES = {
    "demo": "demo",
    "serve": "serve",
    "worker": "serve",
    "crawl": "crawl",
    "jobs": "jobs",
    "exports": "exports",
    "keys": "keys",
    "db": "db",
    "check": "check",
    "doctor": "doctor",
    "settings": "settings",
    "bench": "bench",
    "version": "version",
}


class LazyGroup(TyperGroup):
    """Finds a command by loading the module that has it."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in MODULES:
            loaded = typer.Typer(callback=lambda: None)
            import_module(f"fyke.cli.{MODULES[cmd_name]}").register(loaded)
            self.commands.update(get_group(loaded).commands)
        return super().get_command(ctx, cmd_name)


app = typer.Typer(
    cls=LazyGroup,
    help="Fyke runs scraping in production: durable jobs, polite fetching, validated records, exports.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def fyke() -> None:
    """Fyke runs scraping in production: durable jobs, polite fetching, validated records, exports."""


def _show(error: typer.TyperException) -> None:
    """The error, and how the command is used, if it knows that."""
    show = getattr(error, "show", None)
    if show is not None:
        show()
    else:
        print(f"fyke: {error.format_message()}", file=sys.stderr)


def main() -> None:
    """Run a command; every end is a code and at most one readable line."""
    code: Any
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        _show(error)
        code = Exit.USAGE
    except (typer.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        code = Exit.FAILED
    except FykeError as error:
        print(f"fyke: {error.message}", file=sys.stderr)
        code = exit_code(error)
    sys.exit(code if isinstance(code, int) else 0)
