"""One run of one program: pinned to a core, bounded in time, its resources counted."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

__all__ = ["Run", "RunFailed", "run"]

LOOK_SECONDS = 0.1


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
        memory = Memory(process.pid)
        memory.start()
        try:
            with process.stdout:
                output = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
        finally:
            late.cancel()
            memory.stop()
            _end(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    return Run(
        printed=_printed(output, process.returncode, log, seconds >= limit),
        wall_seconds=seconds,
        cpu_seconds=used.ru_utime + used.ru_stime,
        max_mb=memory.most_mb,
    )


class Memory(threading.Thread):
    """Watches the most memory that the processes of a group have had, together. What wait4 tells counts
    what a process was before its exec, too, which is this one's image. The kernel keeps the mark, so
    looking seldom misses only what grew after the last look."""

    def __init__(self, group: int) -> None:
        super().__init__(name="memory", daemon=True)
        self.group = group
        self.most_mb = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            marks = (_high_water_mb(process) for process in _members(self.group))
            self.most_mb = max(self.most_mb, sum(marks))

    def stop(self) -> None:
        self._over.set()
        self.join()


def _members(group: int) -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            fields = (process / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                yield process


def _high_water_mb(process: Path) -> float:
    with suppress(OSError):
        for line in (process / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0  # it has ended


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
