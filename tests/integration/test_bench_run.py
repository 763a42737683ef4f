"""One run of one program by `make bench`: what it costs is the program's own, and it ends."""

import os
import sys
from pathlib import Path

import pytest
from bench.measure import Run, RunFailed, run

MB = 1_000_000


def python(code: str, tmp_path: Path, limit: float = 60) -> Run:
    return run([sys.executable, "-c", code], core=None, limit=limit, cwd=tmp_path, log=tmp_path / "log")


HOLDS = """
import json, sys, time
held = bytearray({size}).replace(b"\\0", b"x")
time.sleep(1)
print(json.dumps({{"held": len(held)}}))
"""


def test_memory_is_that_of_the_program_not_of_who_started_it(tmp_path: Path) -> None:
    large = bytearray(150 * MB).replace(b"\0", b"x")  # this process is large now
    small = python(HOLDS.format(size=1), tmp_path)
    assert 1 < small.max_mb < 60
    held = python(HOLDS.format(size=100 * MB), tmp_path)
    assert 95 < held.max_mb < 60 + 200  # twice as much, for a moment
    assert len(large) == 150 * MB


def test_memory_counts_what_the_program_started(tmp_path: Path) -> None:
    inner = HOLDS.format(size=100 * MB)
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], check=True)"
    assert python(code, tmp_path).max_mb > 95


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('pid', 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    with pytest.raises(RunFailed, match="took too long"):
        python(code, tmp_path, limit=5)
    state = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_program_that_fails_is_told_by_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="ended with 3: no luck"):
        python("import sys; print('no luck', file=sys.stderr); sys.exit(3)", tmp_path)
    assert os.path.getsize(tmp_path / "log") > 0
