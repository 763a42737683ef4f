"""The documentation says what the code does: every setting, command, endpoint, error and column of it, and
nothing that is not there."""

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest
from scripts.docs import PART, PARTS, ROOT, filled, pages

from fyke import __version__
from fyke.api.problems import CODES
from fyke.api.requests import OptionsBody
from fyke.cli.exits import Exit
from fyke.cli.main import EPILOG, MODULES
from fyke.core.errors import FykeError
from fyke.core.extras import PYARROW
from fyke.core.job import EXPORT_FORMATS, STATES, JobOptions
from fyke.core.outcome import Verdict
from fyke.core.page import ErrorClass
from fyke.core.retry import MAY_PASS
from fyke.extract import TARGETS
from fyke.extract.stock import TERMS
from fyke.politeness.policies import Policies, shipped
from fyke.politeness.policy import READERS
from fyke.settings import Settings
from fyke.store.keys import SCOPES
from fyke.store.queue.upkeep import STRIKES
from fyke.store.schema import metadata

MADE_BY_MEASURING = {"docs/benchmarks.md"}  # `make bench` writes it
PAGES = {
    name: page.read_text("utf-8")
    for page in pages()
    if (name := page.relative_to(ROOT).as_posix()) not in MADE_BY_MEASURING
}
ALL = PAGES | {name: (ROOT / name).read_text("utf-8") for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
SOURCES = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "src/fyke").rglob("*.py")))

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")


def rows(text: str, head: str) -> Iterator[list[str]]:
    """The cells of the rows of the table whose first cell is `head`."""
    found = re.search(rf"^\| {re.escape(head)} \|.*\n\|[ -|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, head
    for line in found[1].splitlines():
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def words(text: str) -> list[str]:
    return CODE.findall(text)


# --- what comes from the code ---


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_the_code_says_of_itself(name: str) -> None:
    assert filled(PAGES[name]) == PAGES[name], "run `make docs`"


def test_every_such_part_is_on_a_page() -> None:
    assert sorted(name for text in PAGES.values() for _, name, _ in PART.findall(text)) == sorted(PARTS)


def test_a_page_that_is_behind_is_seen() -> None:
    behind = PAGES["docs/settings.md"].replace("`FYKE_PORT`", "`FYKE_HARBOUR`", 1)
    assert filled(behind) != behind


# --- what is written by hand ---


@pytest.mark.parametrize("name", ALL)
def test_links_lead_somewhere(name: str) -> None:
    here = (ROOT / name).parent
    targets = [link.partition("#")[0] for link in LINK.findall(ALL[name]) if "://" not in link]
    missing = [t for t in targets if not (here / t).exists()]
    assert [t for t in missing if (here / t).relative_to(ROOT).as_posix() not in MADE_BY_MEASURING] == []


def test_the_readme_leads_to_every_page() -> None:
    linked = set(LINK.findall(PAGES["README.md"]))
    assert set(PAGES) - {"README.md"} <= linked
    assert {"LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"} <= linked


@pytest.mark.parametrize("name", ALL)
def test_files_that_are_named_exist(name: str) -> None:
    """A name with a room before it, such as `jobs/plan.py`, is below src/fyke unless it is below the root."""
    named = [text for text in words(ALL[name]) if re.fullmatch(r"[\w./-]*\w/[\w.-]+\.(py|yaml|md|ini)", text)]
    assert [n for n in named if not (ROOT / n).exists() and not (ROOT / "src/fyke" / n).exists()] == []
    if name == "docs/tour.md":
        assert len(set(named)) > 60


@pytest.mark.parametrize("name", ALL)
def test_settings_that_are_named_exist(name: str) -> None:
    named = set(re.findall(r"FYKE_[A-Z_]*[A-Z]", ALL[name]))
    known = {f"FYKE_{field.upper()}" for field in Settings.model_fields} | {"FYKE_CONFIG", "FYKE_RETRY"}
    assert named <= known


@pytest.mark.parametrize("name", ALL)
def test_commands_that_are_named_exist(name: str) -> None:
    known = set(re.findall(r"^### fyke (.+)$", PAGES["docs/cli.md"], re.MULTILINE))
    named = re.findall(r"(?:`|^    (?:\.venv/bin/)?)fyke ([a-z]+)(?:\s+([a-z]+))?", ALL[name], re.MULTILINE)
    wrong = [
        (command, inner)
        for command, inner in named
        if command not in MODULES or (inner and f"{command} {inner}" not in known and command not in known)
    ]
    assert wrong == []


def test_the_readme_has_exactly_two_commands_to_set_up() -> None:
    section = PAGES["README.md"].split("## Set up\n")[1].split("\n## ")[0]
    block = section.strip().split("\n\n")[0]
    assert [line.strip() for line in block.splitlines()] == ["make demo", "make test"]


@pytest.mark.parametrize("name", ALL)
def test_make_has_the_targets_that_are_named(name: str) -> None:
    named = set(re.findall(r"(?:`|^    )make ([a-z]+)", ALL[name], re.MULTILINE))
    assert named <= make_targets()


def test_make_help_tells_of_every_target() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^make ([a-z]+)", told, re.MULTILINE)) == make_targets() - {"help", "dev"}


def make_targets() -> set[str]:
    found = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found
    return set(found[1].split())


# --- codes and names ---


@pytest.mark.parametrize(("name", "head"), [("README.md", "code"), ("docs/cli.md", "code")])
def test_exit_codes(name: str, head: str) -> None:
    told = {row[0]: row[1] for row in rows(PAGES[name], head)}
    assert set(told) == {str(int(code)) for code in Exit}
    for code, meaning in re.findall(r"(\d+) (\w+)", EPILOG):
        assert meaning in told[code]


def test_page_error_classes() -> None:
    told = {words(row[0])[0]: row for row in rows(PAGES["docs/errors.md"], "class")}
    assert set(told) == {value for name, value in vars(ErrorClass).items() if name.isupper()}
    assert {name for name, row in told.items() if row[2] == "yes"} == MAY_PASS


def test_error_classes_said_to_be_unused_are() -> None:
    text = PAGES["docs/errors.md"]
    unused = {words(row[0])[0] for row in rows(text, "class") if "not used at present" in row[1]}
    uses = re.findall(r"ErrorClass\.(\w+)", SOURCES)
    assert unused == {getattr(ErrorClass, name) for name in vars(ErrorClass) if name.isupper()} - {
        getattr(ErrorClass, name) for name in uses if hasattr(ErrorClass, name)
    }


def test_codes_of_the_http_layer() -> None:
    assert set(CODES.values()) <= set(words(PAGES["docs/errors.md"]))


def test_error_codes_said_to_be_unused_are() -> None:
    line = re.search(r"^(.+) are codes that no endpoint answers with", PAGES["docs/errors.md"], re.MULTILINE)
    assert line
    kinds: dict[str, type[FykeError]] = {k.code: k for k in _tree(FykeError)}
    for code in set(words(line[1])) - {"lease_lost"}:  # raised, and never beyond the worker
        assert not re.search(rf"\braise {kinds[code].__name__}\b", SOURCES), code


def _tree(kind: type[FykeError]) -> Iterator[type[FykeError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _tree(inner)


def test_the_api_page_has_scopes_options_and_states() -> None:
    text = PAGES["docs/api.md"]
    assert {words(row[0])[0] for row in rows(text, "scope")} == set(SCOPES)
    assert {name for row in rows(text, "option") for name in words(row[0])} == set(
        JobOptions.__struct_fields__
    )
    defaults = {words(row[0])[0]: row[1].strip("`") for row in rows(text, "option") if row[1]}
    for name, default in defaults.items():
        value = getattr(JobOptions(), name)
        shown = "null" if value is None else str(list(value) if isinstance(value, tuple) else value)
        assert default.replace('"', "'") == shown
    assert set(STATES) | set(TARGETS) <= set(words(text))
    assert set(get_args(OptionsBody.model_fields["target"].annotation)) == set(TARGETS)


def test_export_formats_changes_and_availability() -> None:
    text = PAGES["docs/exports.md"]
    assert {words(row[0])[0] for row in rows(text, "format")} == set(EXPORT_FORMATS)
    assert [words(row[0])[0] for row in rows(text, "change")] == ["ADDED", "MODIFIED", "UNCHANGED", "REMOVED"]
    assert set(TERMS.values()) <= set(words(text))


def test_metrics_and_log_events_that_are_named_exist() -> None:
    text = PAGES["docs/operations.md"]
    named = {word.removesuffix("_total") for word in words(text) if word.startswith("fyke_")}
    assert len(named) > 12
    assert named == set(re.findall(r'"(fyke_[a-z_]+)"', SOURCES))
    alarms = re.search(r"^Worth an alarm: (.+)$", text, re.MULTILINE)
    assert alarms
    assert [event for event in words(alarms[1]) if f'"{event}"' not in SOURCES] == []


def test_numbers_that_pages_repeat() -> None:
    assert STRIKES == 3
    assert "three times" in PAGES["docs/operations.md"]
    assert Verdict.QUARANTINED in words(PAGES["docs/errors.md"])


def test_the_glossary_is_sorted_and_names_what_there_is() -> None:
    entries = [row[0].strip("*") for row in rows(PAGES["docs/glossary.md"], "word")]
    assert entries == sorted(entries)
    tables = set(re.findall(r"tables? `(\w+)`", PAGES["docs/glossary.md"]))
    assert tables <= set(metadata.tables)
    columns = re.findall(r"`([a-z_]+)\.([a-z_]+)`", PAGES["docs/glossary.md"])
    wrong = [(t, c) for t, c in columns if t in metadata.tables and c not in metadata.tables[t].c]
    assert wrong == []
    classes = set(re.findall(r"`([A-Z][A-Za-z]+)(?:\.\w+)?`", PAGES["docs/glossary.md"])) - {"TARGETS"}
    assert [name for name in classes if not re.search(rf"^(?:class )?{name}\b", SOURCES, re.MULTILINE)] == []


def test_the_architecture_page_has_every_room_and_table() -> None:
    text = PAGES["docs/architecture.md"]
    rooms = {word for row in rows(text, "room") for word in words(row[0])}
    there = {path.name for path in (ROOT / "src/fyke").iterdir() if not path.name.startswith("_")}
    assert rooms == there
    named = set(words(text.split("## Tables of the queue")[1].split("\n## ")[0]))
    assert set(metadata.tables) <= named


# --- examples ---


def blocks(language: str) -> list[str]:
    return [body for text in PAGES.values() for _, kind, body in FENCE.findall(text) if kind == language]


def test_policy_examples_load() -> None:
    examples = blocks("yaml")
    assert examples
    for text in examples:
        policies = Policies.with_file(text)
        assert Policies.load([("dumped", policies.dump())]) == policies


def test_the_policy_page_has_every_key_and_its_default() -> None:
    told = {words(row[0])[0]: row[2].strip("`") for row in rows(PAGES["docs/policies.md"], "key")}
    assert set(told) == set(READERS)
    default: Mapping[str, object] = {
        key: value for key, value in told.items() if value not in ("", "none") and key != "shared"
    }
    text = "default:\n" + "".join(f"  {key}: {value}\n" for key, value in default.items())
    assert Policies.load([("told", text)]).default == Policies.load([("shipped", shipped())]).default


def test_toml_examples_load() -> None:
    examples = blocks("toml")
    assert examples
    for text in examples:
        values = tomllib.loads(text)
        assert set(values) <= set(Settings.model_fields)
        Settings.model_validate(values)


# --- the project ---


def test_the_changelog_has_this_version() -> None:
    assert f"## {__version__}" in ALL["CHANGELOG.md"]


def test_what_is_optional_is_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"] == {"parquet": [PYARROW]}
    assert f"-m pip install '{PYARROW}'" in PAGES["docs/exports.md"]


def test_the_license_is_the_one_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


@pytest.mark.parametrize("name", ALL)
def test_lines_are_short_enough_to_read(name: str) -> None:
    text = FENCE.sub("", PART.sub("", ALL[name]))
    long = [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "    "))]
    assert long == []


def test_no_page_is_empty() -> None:
    assert all(len(text) > 500 for text in PAGES.values())
    assert Path(ROOT / "docs").is_dir()
