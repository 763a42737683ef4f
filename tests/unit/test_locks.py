"""The locks say exactly what is installed, and nothing about where it comes from."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([a-z0-9-]+)==[^\s;]+(?: ; [^\\]+)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def locked(name: str) -> dict[str, str]:
    """The pinned packages and their lines."""
    lines = (ROOT / name).read_text().splitlines()
    return {match[1]: line for line in lines if (match := PIN.match(line))}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_line_is_an_exact_version_a_hash_or_a_comment(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    others = [line for line in lines if not PIN.match(line) and not HASH.match(line)]
    assert [line for line in others if not line.lstrip().startswith("#")] == []
    assert not [line for line in lines if "://" in line or "index" in line]
    for before, line in pairwise(lines):
        assert not PIN.match(before) or HASH.match(line)


def test_tests_run_with_the_versions_that_users_have() -> None:
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()


def test_all_that_the_project_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    needed = project["project"]["dependencies"] + groups["build"]
    wanted = [*needed, *[one for one in groups["dev"] if isinstance(one, str)]]
    wanted += [one for extra in project["project"]["optional-dependencies"].values() for one in extra]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[^A-Za-z0-9-]", one, maxsplit=1)[0].lower() for one in requirements}

    assert names(needed) <= locked("requirements.lock").keys()
    assert names(wanted) <= locked("requirements-dev.lock").keys()
