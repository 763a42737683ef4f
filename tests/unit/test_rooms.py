"""What import rules cannot see: who reads the environment, who the wall clock, and who writes SQL."""

import ast
import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {str(path.relative_to(ROOT / "src")): path for path in (ROOT / "src/fyke").rglob("*.py")}

ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv"}
WALL_CLOCK = {
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
}


def names_used(source: str) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported that the source names."""
    tree = ast.parse(source)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                known[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                yield node.lineno, f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := dotted(node, known)):
            yield node.lineno, name


def dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (head := dotted(node.value, known)):
        return f"{head}.{node.attr}"
    return None


SQL = re.compile(r"\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|(CREATE|ALTER|DROP) (TABLE|INDEX))\s")


def sql_in(source: str) -> list[tuple[int, str]]:
    """Line and beginning of every text of the source that is a statement."""
    return [
        (node.lineno, node.value[:40])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.match(node.value)
    ]


def users(names: set[str], allowed: str) -> list[str]:
    return [
        f"{path}:{line} {name}"
        for path, file in sorted(SOURCES.items())
        if path != allowed
        for line, name in names_used(file.read_text())
        if name in names
    ]


def test_only_settings_read_the_environment() -> None:
    assert users(ENVIRONMENT, "fyke/settings.py") == []


def test_only_the_clock_reads_the_wall_clock() -> None:
    assert users(WALL_CLOCK, "fyke/core/clock.py") == []
    assert "fyke/core/clock.py" in SOURCES


def test_only_the_store_writes_sql() -> None:
    found = {path: sql_in(file.read_text()) for path, file in sorted(SOURCES.items())}
    assert [path for path, texts in found.items() if texts and not path.startswith("fyke/store/")] == []
    assert sum(map(len, found.values())) > 50


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import os\nos.environ['A']", "os.environ"),
        ("import os as system\nsystem.getenv('A')", "os.getenv"),
        ("from os import environ", "os.environ"),
        ("import os.path\nprint(os.environ)", "os.environ"),
        ("from time import time as now", "time.time"),
        ("import datetime\ndatetime.datetime.now()", "datetime.datetime.now"),
        ("from datetime import datetime as when\nwhen.now()", "datetime.datetime.now"),
    ],
)
def test_the_ways_to_name_a_thing_are_seen(source: str, name: str) -> None:
    assert name in {used for _, used in names_used(source)}


def test_a_method_of_the_same_name_is_not_taken_for_it() -> None:
    used = {name for _, name in names_used("from fyke.core import clock\nclock.now()\nself.time.time()")}
    assert not used & (WALL_CLOCK | ENVIRONMENT)


def test_every_room_is_named_in_the_rules() -> None:
    """A new room has to say what it may know: it belongs into every list that names all the others."""
    rules = ConfigParser()
    rules.read(ROOT / ".importlinter")
    rooms = {f"fyke.{path.split('/')[1].removesuffix('.py')}" for path in SOURCES}
    rooms -= {"fyke.__init__", "fyke.__main__"}
    for contract, exempt in EXEMPT.items():
        section = rules[f"importlinter:contract:{contract}"]
        said = " ".join([section.get(key, "") for key in ("layers", "source_modules", "forbidden_modules")])
        named = set(re.findall(r"fyke\.\w+", said))
        assert rooms - exempt <= named, contract


# Rooms that a contract leaves alone, because they are what it protects or may do what it forbids.
EXEMPT = {
    "layers": {"fyke.store", "fyke.objects", "fyke.settings", "fyke.shop"},
    "store": {"fyke.core"},
    "objects": {"fyke.core"},
    "sql": {"fyke.store"},
    "http": {"fyke.api"},
    "shop": {"fyke.cli"},
    "outside": {"fyke.core"},
    "settings": {"fyke.api", "fyke.cli", "fyke.fleet", "fyke.measure", "fyke.wiring"},
}
