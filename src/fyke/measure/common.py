"""What every measurement needs: a place on a disk, what this process has used, and the slow end of times."""

import resource
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["DISK", "cpu_seconds", "middle", "peak_mb", "place", "resident_mb", "slow"]

DISK = next((place for place in ("/var/tmp",) if Path(place).is_dir()), None)  # noqa: S108 - a name is added
"""Where files are kept on a disk: /tmp may be memory, where fsync costs nothing."""


@contextmanager
def place() -> Iterator[Path]:
    """A directory on a disk, gone in the end."""
    with tempfile.TemporaryDirectory(prefix="fyke-bench-", dir=DISK) as folder:
        yield Path(folder)


def cpu_seconds() -> float:
    """CPU time that this process has used, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_mb() -> float:
    """Memory this process has at the moment."""
    return _status("VmRSS")


def peak_mb() -> float:
    """The most memory this process has had. getrusage would count what was there before exec, too: the
    image of whoever started it."""
    return _status("VmHWM")


def _status(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # not Linux: the most there was is all that is told
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2, 1)
    kilobytes = next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
    return round(kilobytes / 1024, 1)


def middle(times: Sequence[float]) -> float:
    """The median in milliseconds."""
    return slow(times, 0.5)


def slow(times: Sequence[float], share: float = 0.99) -> float:
    """In milliseconds, what that share of the times does not exceed: a time that was really taken."""
    ordered = sorted(times)
    return round(ordered[max(0, -int(-share * len(ordered) // 1) - 1)] * 1e3, 2)
