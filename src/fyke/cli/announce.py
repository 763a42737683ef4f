"""Where a server can be reached: it writes its address into the data directory, and commands read it.

The file is locked for as long as the server lives, so an address that was left behind is known for one,
and no key is ever sent to whoever listens there now.
"""

import asyncio
import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from fyke.core.clock import monotonic

__all__ = ["Address", "Announced", "announced"]

NAME = "server.json"
PATIENCE = 1.0  # seconds: commands that look at the file hold it for a moment
AGAIN = 0.02
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to


class Address(Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int


class Announced:
    """A service: the address stands in the data directory from start to stop. Of several servers with one
    data directory (on a shared database) the first is announced."""

    def __init__(self, directory: Path, address: Callable[[], Address]) -> None:
        self.directory = directory
        self.address = address
        self._file: IO[bytes] | None = None

    async def start(self) -> None:
        until = monotonic() + PATIENCE
        while self._file is None:
            self._file = await asyncio.to_thread(self._write)
            if self._file is None:
                if monotonic() >= until:
                    return
                await asyncio.sleep(AGAIN)

    def _write(self) -> IO[bytes] | None:
        """The file with the address in it, under its lock; None when somebody else has that."""
        self.directory.mkdir(parents=True, exist_ok=True)
        file = (self.directory / NAME).open("a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        address = self.address()
        file.truncate(0)
        file.write(msgspec.json.encode(Address(EVERYWHERE.get(address.host, address.host), address.port)))
        file.flush()
        return file

    async def stop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.truncate(0)
            file.close()


def announced(directory: Path) -> Address | None:
    """Where the server of this data directory listens, if one runs."""
    try:
        with (directory / NAME).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return msgspec.json.decode(file.read(), type=Address)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return None
