"""Writes into the pages of docs/ what the code says of itself: settings, commands, endpoints, columns.

    python -m scripts.docs

A page marks such a part by `<!-- from the code: NAME -->` and `<!-- end -->`; everything else in it is
written by hand. tests/unit/test_docs.py fails while a part differs from the code.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

from typer import Context
from typer.main import get_command

import fyke
from fyke.api import bodies, exports, jobs, keys, results, stream
from fyke.api.app import create_app
from fyke.cli.main import app as commands
from fyke.cli.server import Behind
from fyke.core.errors import FykeError
from fyke.egress.guard import Guard
from fyke.export.rows import COLUMNS
from fyke.objects.local import LocalObjects
from fyke.politeness.policies import Policies
from fyke.settings import Settings, described
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue
from fyke.wiring import Base

__all__ = ["PARTS", "filled", "openapi", "pages"]

ROOT: Final = Path(__file__).parents[1]
PART: Final = re.compile(r"(<!-- from the code: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
BOUNDS: Final = {"ge": "from {}", "gt": "above {}", "le": "to {}", "lt": "below {}"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def settings() -> str:
    """Every setting with its default, its bounds and its purpose."""
    rows = []
    for one in described():
        field = Settings.model_fields[one.name.removeprefix("FYKE_").lower()]
        found = [
            form.format(f"{getattr(mark, key):g}")
            for mark in field.metadata
            for key, form in BOUNDS.items()
            if getattr(mark, key, None) is not None
        ]
        default = ",".join(field.default) if isinstance(field.default, list) else one.default
        shown = f"`{default}`" if default and field.default is not None else "none"
        purpose = f"{one.description} ({' '.join(found)})" if found else one.description
        rows.append((f"`{one.name}`", shown, purpose))
    return table(("setting", "default", "what for"), rows)


def cli() -> str:
    """Every command: what it does, how it is written, its arguments and options."""
    root = get_command(commands)
    return "\n".join(_command(root, Context(root, info_name="fyke")))


def _command(command: Any, context: Context) -> Iterator[str]:
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    if not names:
        yield f"### {context.command_path}\n\n{command.help}\n\n```\n{_usage(command, context)}\n```\n"
        records = [record for p in command.params if (record := p.get_help_record(context)) is not None]
        if records:
            yield table(("option", ""), [(f"`{name}`", " ".join(text.split())) for name, text in records])
    for name in names:
        inner = command.get_command(context, name)
        yield from _command(inner, Context(inner, info_name=name, parent=context))


def _usage(command: Any, context: Context) -> str:
    return " ".join(str(command.get_usage(context)).removeprefix("Usage: ").split())


def errors() -> str:
    """Every error of the tree: its code, the status it answers with, its sentence."""
    for module in walk_packages(fyke.__path__, "fyke."):
        if not module.name.startswith(("fyke.__main__", "fyke.store.migrations")):
            import_module(module.name)
    ours = [kind for kind in _tree(FykeError) if kind.__module__.startswith("fyke.")]
    rows = [(f"`{kind.code}`", str(kind.status), _sentence(kind)) for kind in ours]
    return table(("code", "status", "meaning"), sorted(rows, key=lambda row: (row[1], row[0])))


def _tree(kind: type[FykeError]) -> Iterator[type[FykeError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _tree(inner)


def _sentence(kind: type[FykeError]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def openapi() -> dict[str, Any]:
    """What the API says of itself; nothing is opened or written for it."""
    database = database_for("sqlite:///nowhere")
    policies = Policies.with_file()
    here = Settings.model_construct()
    base = Base(here, policies, Guard(), LocalObjects(Path("nowhere")), database, SqlQueue(database))
    return create_app(Behind(base)).openapi()


def endpoints() -> str:
    """Every endpoint, the scope of the key it asks for, and what it does."""
    scopes = _scopes()
    rows = []
    for path, methods in openapi()["paths"].items():
        for method, operation in methods.items():
            needs = scopes.get((method.upper(), path.removeprefix("/api/v1")), "none")
            said = str(operation["description"]).split("\n\n")[0].replace("\n", " ")
            rows.append((f"`{method.upper()} {path}`", needs, said))
    return table(("endpoint", "scope", "what it does"), rows)


def _scopes() -> dict[tuple[str, str], str]:
    """The scope that a route asks for, by its method and path below /api/v1."""
    routers: tuple[Any, ...] = (
        *(jobs.reading, jobs.submitting, exports.reading, exports.submitting),
        *(results.router, bodies.router, stream.router, keys.router),
    )
    return {
        (method, route.path): router.route_class.needs
        for router in routers
        for route in router.routes
        for method in route.methods
    }


def columns() -> str:
    """The columns of every export, in order."""
    parts = []
    for kind, found in COLUMNS.items():
        parts.append(f"**{kind}**: " + ", ".join(f"`{column.name}`" for column in found) + "\n")
    return "\n".join(parts)


PARTS: Final[dict[str, Callable[[], str]]] = {
    "settings": settings,
    "cli": cli,
    "errors": errors,
    "endpoints": endpoints,
    "columns": columns,
}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def filled(text: str) -> str:
    """A page with its parts as the code has them now."""
    return PART.sub(lambda match: f"{match[1]}\n{PARTS[match[2]]()}\n{match[3]}", text)


def main() -> None:
    for page in pages():
        text = page.read_text("utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, "utf-8")
            print(f"{page.relative_to(ROOT)} brought up to date")


if __name__ == "__main__":
    main()
