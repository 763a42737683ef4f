"""Processes and ports, as tests of real servers need them."""

import os
import select
import shutil
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["Missing", "alive", "family", "free_port", "process_state", "program", "send", "wait_gone"]


class Missing(Exception):
    """A program that a test needs is not installed."""


def program(*names: str, folders: Sequence[str] = ()) -> str:
    """The path of the first program found."""
    path = os.pathsep.join([*folders, os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"])
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise Missing(f"{names[0]} is not installed")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def process_state(pid: int) -> str:
    """The letter that Linux has for it: T is stopped, X gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def alive(pid: int) -> bool:
    """Whether the process runs; one that has ended but is not yet collected does not."""
    return process_state(pid) not in "ZX"


def family(pid: int) -> list[int]:
    """The process and its children."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    return [pid]


def send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_gone(pid: int, seconds: float | None) -> bool:
    """Wait until the process has ended; whether it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(None if seconds is None else seconds * 1000))
    finally:
        os.close(descriptor)
