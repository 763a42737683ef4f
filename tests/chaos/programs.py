"""Fyke's own programs as a test runs and ends them: what they say is read as it comes."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from tests.chaos.waiting import until
from tests.processes import alive, family, process_state, send, wait_gone

__all__ = ["Program", "owner_of", "pause"]

START_SECONDS = 60
ESTABLISHED = "01"


class Program:
    """One run of `fyke`, from its start until it has gone."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.pid = process.pid
        self.lines: list[str] = []
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read(), name=f"read-{process.pid}")

    @classmethod
    async def start(cls, arguments: list[str], directory: Path, settings: Mapping[str, str]) -> Self:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        environment = {**kept, "HOME": str(directory), **settings}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "fyke",
            *arguments,
            cwd=directory,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        return cls(process)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(ConnectionError):
            async for line in self.process.stdout:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                self._news.set()
        self._news.set()

    @property
    def runs(self) -> bool:
        return self.process.returncode is None and alive(self.pid)

    @property
    def children(self) -> list[int]:
        """The worker processes of a server."""
        return [pid for pid in family(self.pid)[1:] if alive(pid)]

    async def some_children(self) -> list[int]:
        """They, of which there may be none for a moment."""
        await until(lambda: bool(self.children), look=0.01)
        return self.children

    async def until(
        self, condition: Callable[[str], bool], *, since: int = 0, seconds: float = START_SECONDS
    ) -> str:
        """Wait for a line of which `condition` is true; one from the number `since` on will do."""
        looked_at = since
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._news.clear()
                    for line in self.lines[looked_at:]:
                        looked_at += 1
                        if condition(line):
                            return line
                    if self._reading.done():
                        raise AssertionError(f"it ended without saying so:\n{self.said()}")
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"not said within {seconds} s:\n{self.said()}") from None

    async def up(self) -> Self:
        """Wait until it works."""
        await self.until(lambda line: '"event": "started"' in line)
        return self

    def said(self, last: int = 30) -> str:
        return "\n".join(self.lines[-last:])

    def logged(self, event: str) -> list[dict[str, object]]:
        """What it has logged of one kind."""
        found = [line for line in self.lines if f'"event": "{event}"' in line]
        return [msgspec.json.decode(line, type=dict[str, object]) for line in found]

    async def ended(self, seconds: float = 60) -> int:
        """Wait until it has gone, with all that it started; its code."""
        async with asyncio.timeout(seconds):
            code = await self.process.wait()
            await self._reading
        return code

    async def kill(self) -> None:
        """kill -9, the program alone."""
        send([self.pid], signal.SIGKILL)
        assert await asyncio.to_thread(wait_gone, self.pid, START_SECONDS)

    def resume(self) -> None:
        send([self.pid], signal.SIGCONT)


async def pause(pid: int) -> None:
    """SIGSTOP, and wait until it has taken effect: that is when the process is next about to run."""
    send([pid], signal.SIGSTOP)
    await until(lambda: process_state(pid) in "TXZ", look=0.001)


def owner_of(port: int, pids: list[int]) -> int | None:
    """Which of the processes holds the end of a connection on loopback that has this port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port and fields[3] == ESTABLISHED:
            inode = fields[9]
            break
    else:
        return None
    for pid in pids:
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(descriptor) == f"socket:[{inode}]":
                        return pid
    return None
