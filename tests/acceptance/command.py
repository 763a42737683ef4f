"""`fyke` as a person runs it: a process with a directory, an environment and two streams of its own."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["FYKE", "Done", "Fyke", "Running"]

FYKE = Path(sys.executable).parent / "fyke"
TRACE = "Traceback (most recent call last)"
FAST = ("--concurrency", "8", "--delay", "0")
LONGEST = 150  # seconds that anything may take here, on a machine that is busy with other things


class Done(Struct, frozen=True):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def line(self) -> str:
        """What it said is wrong: one line, and nothing on standard output."""
        assert self.out == "", self
        (line,) = self.err.splitlines()
        return line


class Running:
    """A command that runs; what it says is read as it comes."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.pid = process.pid
        self.out: list[str] = []
        self.err: list[str] = []
        self._news = asyncio.Event()
        assert process.stdout is not None
        assert process.stderr is not None
        self._reading = [
            asyncio.create_task(self._read(process.stdout, self.out)),
            asyncio.create_task(self._read(process.stderr, self.err)),
        ]

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        async for line in stream:
            lines.append(line.decode().rstrip("\n"))
            self._news.set()
        self._news.set()

    async def says(self, text: str, lines: list[str] | None = None) -> str:
        """Wait for a line, on standard output if not told otherwise, that has `text` in it."""
        lines = self.out if lines is None else lines
        async with asyncio.timeout(LONGEST):
            while True:
                self._news.clear()
                for line in lines:
                    if text in line:
                        return line
                assert not all(one.done() for one in self._reading), (self.out, self.err)
                await self._news.wait()

    def send(self, number: signal.Signals) -> None:
        """Not by the process's own method: that may take the exit code away from asyncio."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9; it takes effect before anything else happens here."""
        with suppress(ProcessLookupError):
            self.process.kill()

    async def ended(self) -> Done:
        async with asyncio.timeout(LONGEST):
            code = await self.process.wait()
            await asyncio.gather(*self._reading)
        done = Done(code, "\n".join(self.out), "\n".join(self.err))
        assert TRACE not in done.err, done.err
        return done


class Fyke:
    """Commands with one data directory, that reach loopback."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.settings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(directory),
            "LC_ALL": "C.UTF-8",
            "FYKE_DATA_DIR": str(self.data),
            "FYKE_EGRESS_ALLOW": "127.0.0.0/8",
            "FYKE_RETRY_BASE": "0.05",
            "FYKE_PORT": "0",
        }
        self.settings |= {name: str(value) for name, value in settings.items()}
        self.started: list[Running] = []

    async def start(self, *arguments: object, stdin: int | None = None, **settings: Any) -> Running:
        process = await asyncio.create_subprocess_exec(
            str(FYKE),
            *map(str, arguments),
            cwd=self.directory,
            env=self.settings | {name: str(value) for name, value in settings.items()},
            stdin=asyncio.subprocess.DEVNULL if stdin is None else stdin,
            stdout=PIPE,
            stderr=PIPE,
            limit=1 << 24,  # of a line: one object may be long
        )
        running = Running(process)
        self.started.append(running)
        return running

    async def run(self, *arguments: object, stdin: str | None = None, **settings: Any) -> Done:
        """Run a command to its end."""
        running = await self.start(*arguments, stdin=None if stdin is None else PIPE, **settings)
        if stdin is not None:
            assert running.process.stdin is not None
            running.process.stdin.write(stdin.encode())
            running.process.stdin.close()
        return await running.ended()

    async def crawl(self, source: object, out: Path, *options: object, **settings: Any) -> Done:
        return await self.run("crawl", source, "--out", out, *FAST, *options, **settings)

    async def serve(self, *options: object, **settings: Any) -> tuple[Running, str]:
        """A server on a free port, once it listens; its address."""
        server = await self.start("serve", "--port", "0", "--json", *options, **settings)
        found = msgspec.json.decode(await server.says("address"))
        return server, found["address"]

    async def close(self) -> None:
        for running in self.started:
            running.kill()
        for running in self.started:
            await running.process.wait()
            await asyncio.gather(*running._reading)
