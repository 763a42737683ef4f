"""What it was measured on."""

import os
import platform
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench.services import Missing, program

__all__ = ["cores", "machine"]

SERVERS: Mapping[str, tuple[str, ...]] = {
    "nginx": ("nginx", "-v"),
    "PostgreSQL": ("postgres", "--version"),
    "MariaDB": ("mariadbd", "--version"),
    "Redis": ("redis-server", "--version"),
    "Node": ("node", "--version"),
}


def cores() -> list[int]:
    """The cores this process may use."""
    return sorted(os.sched_getaffinity(0))


def machine(directory: Path) -> dict[str, str]:
    """The machine's facts and the servers' versions; `directory` is where the databases are written."""
    facts = {
        "Processor": f"{_processor()}, {len(cores())} cores",
        "Memory": f"{_memory_gb()} GB",
        "Files": f"{_filesystem(directory)}, {_fsync_ms(directory):.2f} ms an fsync of 4 KB",
        "System": f"{_system()}, Linux {platform.release()}",
        "Python": platform.python_version(),
    }
    return facts | {name: found for name, command in SERVERS.items() if (found := _version(command))}


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9)


def _filesystem(directory: Path) -> str:
    """The type of the file system that a directory is on: fsync costs nothing in memory."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, found, *_ = line.split()
        if directory.resolve().is_relative_to(place) and len(place) >= len(best):
            best, kind = place, found
    return kind


def _fsync_ms(directory: Path) -> float:
    """The median time of making 4 KB more durable: what a commit pays at least."""
    times = []
    with (directory / "fsync").open("wb") as file:
        for _ in range(100):
            file.write(bytes(4096))
            file.flush()
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return 1000 * median(times)


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"


def _version(command: tuple[str, ...]) -> str | None:
    try:
        found = subprocess.run(
            [program(command[0]), *command[1:]], capture_output=True, text=True, check=False
        )
    except Missing:
        return None
    words = (found.stdout or found.stderr).replace("=", " ").replace("/", " ").split()
    return next((word for word in words if word.lstrip("v")[:1].isdigit() and "." in word), None)
