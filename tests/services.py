"""The servers of a test session: the first test that asks for one starts it, all processes of the session
share it, and a keeper stops everything when the session has gone, even by kill -9. A test that kills or
pauses its server has a private one."""

import fcntl
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from tests.processes import wait_gone
from tests.servers import MariaDB, Postgres, Redis, Server

__all__ = ["Services"]

ROOT: Final = Path(__file__).resolve().parent.parent
KINDS: Final[dict[str, type[Server]]] = {"postgres": Postgres, "mariadb": MariaDB, "redis": Redis}

S = TypeVar("S", bound=Server)


class Services:
    """The servers below `directory`, which the session's first process makes and closes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._shared: dict[str, Server] = {}

    @classmethod
    def make(cls) -> "Services":
        directory = Path(tempfile.mkdtemp(prefix="fyke-services-"))
        directory.chmod(0o711)  # the servers' accounts have to pass
        (directory / "owner").write_text(str(os.getpid()))
        return cls(directory)

    def shared(self, kind: type[S]) -> S:
        """The session's server of this kind, running. Raises Missing."""
        name = _name(kind)
        server = self._shared.get(name)
        if server is None:
            server = kind(self.directory / name)
            server.check()
            self._keep()
            self._shared[name] = server
        server.start()
        assert isinstance(server, kind)
        return server

    @contextmanager
    def private(self, kind: type[S], *, durable: bool = False) -> Iterator[S]:
        """A running server that is nobody else's. Raises Missing."""
        server = kind(self.directory / f"{_name(kind)}-{secrets.token_hex(4)}", durable=durable)
        server.check()
        self._keep()
        server.start()
        try:
            yield server
        finally:
            server.stop(hurry=True)
            shutil.rmtree(server.directory, ignore_errors=True)

    def close(self) -> None:
        """Stop everything and leave nothing behind."""
        for state in self.directory.glob("*.json"):
            kind = KINDS[state.stem.partition("-")[0]]
            kind(state.with_suffix("")).stop(hurry=True)
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.directory / "keeper").read_text()), signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _keep(self) -> None:
        """Start the keeper, once."""
        keeper = self.directory / "keeper"
        with (self.directory / "keeper.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if keeper.exists():
                return
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.services", str(self.directory)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the tests; it has to outlive them
            )
            keeper.write_text(str(process.pid))
            process.returncode = 0  # it is not ours to wait for


def _name(kind: type[Server]) -> str:
    return next(name for name, known in KINDS.items() if known is kind)


def keep(directory: Path) -> None:
    """Wait until the session's first process has gone, then stop what it has left."""
    wait_gone(int((directory / "owner").read_text()), None)
    (directory / "keeper").unlink(missing_ok=True)
    Services(directory).close()


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
