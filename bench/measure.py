"""One run of one program: pinned to a core, bounded in time, its resources counted."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

__all__ = ["Run", "RunFailed", "run"]


class RunFailed(Exception):
    """The program ended badly, too late, or said nothing that could be read."""


class Run(Struct, frozen=True):
    """What a program printed, and what it cost: seconds of CPU, its share of a core, megabytes at most."""

    printed: dict[str, Any]
    wall_seconds: float
    cpu_seconds: float
    max_mb: float

    @property
    def core_share(self) -> float:
        return self.cpu_seconds / self.wall_seconds


def run(
    command: Sequence[str],
    *,
    core: int | None,
    limit: float,
    cwd: Path,
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Run `command` for at most `limit` seconds; its last line of output is to be one JSON object."""
    pinned = [*([] if core is None else ["taskset", "-c", str(core)]), *command]
    started = time.perf_counter()
    with log.open("wb") as errors:
        process = subprocess.Popen(
            pinned,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # ended as a whole, with whatever it started
        )
        assert process.stdout is not None
        late = threading.Timer(limit, _end, (process.pid,))
        late.start()
        try:
            output = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
        finally:
            late.cancel()
            _end(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    return Run(
        printed=_printed(output, process.returncode, log, seconds >= limit),
        wall_seconds=seconds,
        cpu_seconds=used.ru_utime + used.ru_stime,
        max_mb=used.ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024),
    )


def _end(group: int) -> None:
    with suppress(ProcessLookupError):  # the usual case: all have ended by themselves
        os.killpg(group, signal.SIGKILL)


def _printed(output: bytes, code: int, log: Path, late: bool) -> dict[str, Any]:
    lines = output.decode(errors="replace").strip().splitlines()
    try:
        printed = json.loads(lines[-1])
    except (IndexError, ValueError):
        printed = None
    if code != 0 or not isinstance(printed, dict):
        why = "took too long" if late else f"ended with {code}"
        said = log.read_text(errors="replace").strip().splitlines() or lines
        raise RunFailed(f"{why}: {said[-1][:200]}" if said else why)
    return printed
