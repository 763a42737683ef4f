"""`fyke`: the commands, and how they end."""

import sys

import click
import typer

from fyke import __version__
from fyke.cli import bench, crawl, demo, serve
from fyke.cli.exits import Exit, exit_code
from fyke.core.errors import FykeError

__all__ = ["app", "main"]

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong use, 3 refused by the guard, 4 partial, 5 stopped by a budget,"
    " 130 interrupted."
)

app = typer.Typer(
    help="Fyke runs scraping in production: durable jobs, polite fetching, validated records, exports.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (crawl, demo, serve, bench):
    module.register(app)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run a command; every end is a code and at most one readable line."""
    try:
        code = app(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = Exit.USAGE
    except click.Abort:
        code = Exit.INTERRUPTED
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except BrokenPipeError:
        code = Exit.FAILED
    except FykeError as error:
        print(f"fyke: {error.message}", file=sys.stderr)
        code = exit_code(error)
    sys.exit(code if isinstance(code, int) else 0)
