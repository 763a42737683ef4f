"""`fyke`: the commands, and how they end.

A command's module is loaded when the command is asked for: nobody waits for what is not used.
"""

import logging
import os
import signal
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from fyke import __version__
from fyke.cli.called import program, typed
from fyke.cli.exits import Exit, exit_code
from fyke.core.errors import FykeError, UnknownName
from fyke.core.secrets import redact

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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args == ["help"]:
            print(ctx.get_help())
            raise typer.Exit
        if args[0] == "help":
            args = [*args[1:], "--help"]
        if args[0] not in MODULES:
            raise UnknownName("command", args[0], MODULES)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    help="Fyke runs scraping in production: durable jobs, polite fetching, validated records, exports.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(__version__)
        raise typer.Exit


@app.callback()
def fyke(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Fyke runs scraping in production: durable jobs, polite fetching, validated records, exports."""


def _show(error: typer.TyperException) -> None:
    """Wrong use, in one line: at which command, what is wrong, what is nearest, where more is said."""
    context = getattr(error, "ctx", None)
    message = error.format_message().strip()
    if not message or "\n" in message:  # no arguments at all: that is the help, printed already or not
        if message:
            print(message, file=sys.stderr)
        return
    where = context.command_path if context is not None else "fyke"
    option = getattr(error, "option_name", None)
    if option is not None and context is not None and message.startswith("No such option"):
        options = [one for one in context.command.get_params(context) if not getattr(one, "hidden", False)]
        known = [name for one in options for name in one.opts if name[0] == "-"]
        near = get_close_matches(option, known, n=1, cutoff=0.0)
        message = f"there is no option {option}" + (f": did you mean {near[0]}?" if near else "")
    ending = "" if message.endswith((".", "?")) else "."
    more = f"{program()}{where.removeprefix('fyke')} --help"
    print(f"{where}: {message}{ending} {more} says more.", file=sys.stderr)


def _unexpected(error: Exception) -> str:
    """What nobody thought of, in one line; where it happened is for who asks for it."""
    if logging.getLogger().isEnabledFor(logging.DEBUG):
        traceback.print_exc()
    said = redact(f"{type(error).__name__}: {error}").replace("\n", " ")
    return f"this is a fault of Fyke: {said} (FYKE_LOG_LEVEL=DEBUG shows where)"


def _more_lines(error: FykeError) -> list[str]:
    """The wrong lines of a file after the first, which the message has."""
    found = []
    for field in error.details.get("fields", ())[1:]:
        where, _, number = field["field"].rpartition(".")
        if where == "file":
            found.append(f"line {number}: {field['message']}")
    return found


def _where(error: FykeError) -> str:
    """Where the names stand that are too many for a message."""
    fields = error.details.get("fields", ())
    if not isinstance(error, UnknownName) or not fields[0]["field"].startswith("setting"):
        return ""
    return typed(" Without it, `fyke settings` lists all there are.")


def _of_the_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{os.fsdecode(error.filename)}: {reason}" if error.filename else reason


def main() -> None:
    """Run a command; every end is a code and at most one readable line."""
    code: Any
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until a command has ways of its own
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
        print(f"fyke: {typed(error.message)}{_where(error)}", file=sys.stderr)
        for line in _more_lines(error):
            print(line, file=sys.stderr)
        code = exit_code(error)
    except OSError as error:
        print(f"fyke: {_of_the_system(error)}", file=sys.stderr)
        code = Exit.FAILED
    except Exception as error:  # the last one to see it: a person is to get a line, not a trace
        print(f"fyke: {_unexpected(error)}", file=sys.stderr)
        code = Exit.FAILED
    sys.exit(code if isinstance(code, int) else 0)
