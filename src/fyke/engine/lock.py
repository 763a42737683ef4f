"""One process owns a data directory: SQLite has one writer, and objects have one keeper."""

import fcntl
import os
import sys
from pathlib import Path
from typing import IO

from fyke.core.errors import Conflict, StoreError

__all__ = ["DirectoryLock"]


class DirectoryLock:
    """Held from start to stop; the system lets go of it when the process dies."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._file: IO[str] | None = None

    async def start(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            file = (self.directory / "lock").open("a+")
        except OSError as error:
            raise StoreError(f"{self.directory} cannot be written to: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise Conflict(
                f"{self.directory} is in use by {holder}: stop it, give the work to it,"
                " or set FYKE_DATA_DIR to another directory"
            ) from None
        file.truncate(0)
        program = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
        file.write(f"{program} (pid {os.getpid()})")
        file.flush()
        self._file = file

    async def stop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
