"""PostgreSQL, MariaDB and Redis as a test may have them: on loopback, in a directory of their own.

A server can be stopped, killed, paused and started again at the same port. What has to be known across
processes (port, process, password) stands in a file beside its directory; a lock lets one process at a
time start or stop it.
"""

import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, ClassVar

from tests.processes import alive, family, free_port, process_state, program, send, wait_gone

__all__ = ["Database", "MariaDB", "Postgres", "Redis", "Server"]

USER = "fyke"
START_SECONDS = 60
START_TRIES = 40
STOP_SECONDS = 30


class Server(ABC):
    """A server in `directory`. `durable` makes it keep what it has committed even if the machine dies,
    as in production; without it, it is faster."""

    name: ClassVar[str]
    account: ClassVar[str]  # who runs it when we are root
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    hurry_signal: ClassVar[signal.Signals] = signal.SIGKILL

    def __init__(self, directory: Path, *, durable: bool = False) -> None:
        self.directory = directory
        self.durable = durable
        self._file = directory.with_suffix(".json")
        self._child: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def check(self) -> None:
        """Raise Missing when the server is not installed."""

    @abstractmethod
    def prepare(self) -> None:
        """Make what has to be there before the first start."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What runs the server, in the foreground."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether it takes connections."""

    @property
    def port(self) -> int:
        return int(self._state()["port"])

    @property
    def password(self) -> str:
        return str(self._state()["password"])

    @property
    def pid(self) -> int:
        return int(self._state()["pid"])

    @property
    def running(self) -> bool:
        if self._child is not None:
            self._child.poll()  # collects it when it has ended
        pid = self._state().get("pid")
        return pid is not None and alive(pid)

    def start(self) -> None:
        """Start it unless it runs; return when it takes connections."""
        with self._locked():
            if self.running:
                return
            self.check()
            if "prepared" not in self._state():
                shutil.rmtree(self.directory, ignore_errors=True)
                self._write(port=free_port(), password=secrets.token_hex(8))
                self.directory.mkdir(mode=0o700)
                if self._runs_as():
                    account = pwd.getpwnam(self._runs_as()["user"])
                    os.chown(self.directory, account.pw_uid, account.pw_gid)
                self.prepare()
                self._write(prepared=True)
            self._launch()

    def stop(self, *, hurry: bool = False) -> None:
        """End it in good order, or at once when nothing of it is needed any more."""
        with self._locked():
            if not self.running:
                return
            send([self.pid], signal.SIGCONT)
            send([self.pid], self.hurry_signal if hurry else self.stop_signal)
            if not wait_gone(self.pid, STOP_SECONDS):
                send(family(self.pid), signal.SIGKILL)
                wait_gone(self.pid, STOP_SECONDS)
            if self._child is not None:
                self._child.poll()

    def kill(self) -> None:
        """kill -9, all of it."""
        send(family(self.pid), signal.SIGKILL)
        wait_gone(self.pid, STOP_SECONDS)
        if self._child is not None:
            self._child.poll()

    def restart(self) -> None:
        """Stop and start again, at the same port with the same data."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Let it hang: connections stay open, nothing answers."""
        pids = family(self.pid)
        send(pids, signal.SIGSTOP)
        while any(process_state(pid) not in "TXZ" for pid in pids):
            sleep(0.001)  # the signal takes effect when the process is next about to run

    def resume(self) -> None:
        send(family(self.pid), signal.SIGCONT)

    def run(self, command: Sequence[str], *, text: str = "", env: Mapping[str, str] | None = None) -> str:
        """Run a program of the server's, as the server's user; what it printed."""
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            cwd=self.directory,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC", **(env or {})},
            timeout=START_SECONDS,
            check=False,
            **self._runs_as(),
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout}")
        return str(done.stdout)

    def _launch(self) -> None:
        deadline = monotonic() + START_SECONDS
        log = self.directory.with_suffix(".log")
        for _ in range(START_TRIES):
            with log.open("ab") as out:
                self._child = subprocess.Popen(
                    self.command(),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    cwd=self.directory,
                    env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
                    start_new_session=True,
                    **self._runs_as(),
                )
            self._write(pid=self._child.pid)
            while monotonic() < deadline and self._child.poll() is None:
                if self.answers():
                    self._write(started=True)
                    return
                sleep(0.02)
            # It ended: the port was taken, or what a killed predecessor held is not yet free.
            sleep(0.1)
            if "started" not in self._state():
                self._write(port=free_port())
        raise RuntimeError(f"{self.name} does not start: {log.read_text()[-2000:]}")

    def _runs_as(self) -> dict[str, Any]:
        """Servers refuse root: when we are root, the account that their package brought."""
        if os.geteuid() != 0:
            return {}
        try:
            account = pwd.getpwnam(self.account)
        except KeyError:
            account = pwd.getpwnam("nobody")
        return {"user": account.pw_name, "group": account.pw_gid, "extra_groups": []}

    def _state(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads(self._file.read_text() or "{}")
        except FileNotFoundError:
            return {}
        return state

    def _write(self, **changes: Any) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(json.dumps({**self._state(), **changes}))
        fresh.replace(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self.directory.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class Database(Server):
    """A server of databases, each test's its own."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Run SQL as the superuser."""

    @abstractmethod
    def url(self, database: str) -> str: ...

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a fresh, empty database, which is dropped after."""
        name = f"t_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        try:
            yield self.url(name)
        finally:
            if self.running:
                self.drop(name)

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE {name}")


class Postgres(Database):
    name = "PostgreSQL"
    account = "postgres"
    stop_signal = signal.SIGINT  # "fast": does not wait for clients
    hurry_signal = signal.SIGQUIT  # not SIGKILL, which would leave shared memory behind

    def check(self) -> None:
        for name in ("postgres", "initdb", "psql", "pg_isready"):
            self._tool(name)

    def prepare(self) -> None:
        secret = self.directory / "password"
        self.run(["/bin/sh", "-c", f"umask 077; cat > {secret}"], text=self.password)
        initdb = [self._tool("initdb"), "--pgdata=data", f"--username={USER}", f"--pwfile={secret}"]
        self.run([*initdb, "--auth=password", "--no-locale", "--encoding=UTF8", "--no-sync"])

    def command(self) -> Sequence[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "300",
            "shared_buffers": "128MB",
            "max_wal_size": "2GB",
            "log_min_messages": "fatal",
        }
        if not self.durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options = [f"--{key}={value}" for key, value in settings.items()]
        return [self._tool("postgres"), "-D", "data", "-p", str(self.port), *options]

    def answers(self) -> bool:
        ready = [self._tool("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-t", "5"]
        return subprocess.run(ready, timeout=START_SECONDS, check=False).returncode == 0

    def execute(self, sql: str) -> None:
        psql = [self._tool("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url("postgres")]
        self.run(psql, text=sql)

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def _tool(self, name: str) -> str:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        return program(name, folders=[str(path) for path in reversed(folders)])


class MariaDB(Database):
    name = "MariaDB"
    account = "mysql"

    def check(self) -> None:
        program("mariadbd")
        program("mariadb-install-db")
        program("mariadb")

    def prepare(self) -> None:
        install = [
            program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={self.directory}/data",
            "--skip-test-db",
        ]
        self.run([*install, "--auth-root-authentication-method=socket"])
        accounts = (
            f"CREATE USER IF NOT EXISTS {USER}@127.0.0.1 IDENTIFIED BY '{self.password}';\n"
            f"GRANT ALL ON *.* TO {USER}@127.0.0.1 WITH GRANT OPTION;\n"
        )
        self.run(["/bin/sh", "-c", "umask 077; cat > accounts.sql"], text=accounts)

    def command(self) -> Sequence[str]:
        settings = {
            "datadir": f"{self.directory}/data",
            "init-file": str(self.directory / "accounts.sql"),
            "bind-address": "127.0.0.1",
            "port": str(self.port),
            "socket": str(self.directory / "socket"),
            "pid-file": str(self.directory / "pid"),
            "max-connections": "300",
            "innodb-buffer-pool-size": "256M",
            "innodb-log-file-size": "256M",
            "innodb-flush-log-at-trx-commit": "1" if self.durable else "0",
            "innodb-doublewrite": "1" if self.durable else "0",
        }
        options = [f"--{key}={value}" for key, value in settings.items()]
        return [program("mariadbd"), "--no-defaults", "--skip-name-resolve", "--skip-log-bin", *options]

    def answers(self) -> bool:
        greeting = ask(self.port, b"")
        return greeting[4:5] == b"\x0a"

    def execute(self, sql: str) -> None:
        client = [program("mariadb"), "--no-defaults", "--host=127.0.0.1", f"--port={self.port}"]
        self.run([*client, f"--user={USER}"], text=sql, env={"MYSQL_PWD": self.password})

    def url(self, database: str) -> str:
        return f"mysql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"


class Redis(Server):
    """Redis keeps nothing of importance, so it keeps nothing here, durable or not."""

    name = "Redis"
    account = "redis"

    def check(self) -> None:
        program("redis-server", "valkey-server")

    def prepare(self) -> None:
        settings = f'bind 127.0.0.1\nsave ""\nappendonly no\nrequirepass {self.password}\ndatabases 64\n'
        self.run(["/bin/sh", "-c", "umask 077; cat > redis.conf"], text=settings)

    def command(self) -> Sequence[str]:
        return [program("redis-server", "valkey-server"), "redis.conf", "--port", str(self.port)]

    def answers(self) -> bool:
        return ask(self.port, f"AUTH {self.password}\r\nPING\r\n".encode()).startswith(b"+OK")

    def flush(self, number: int) -> None:
        """Empty one of its databases."""
        self.ask(f"SELECT {number}\r\nFLUSHDB\r\n")

    def ask(self, commands: str) -> bytes:
        """Send commands; the first replies."""
        return ask(self.port, f"AUTH {self.password}\r\n{commands}QUIT\r\n".encode(), to_end=True)

    def url(self, number: int) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/{number}"


def ask(port: int, question: bytes, *, to_end: bool = False) -> bytes:
    """What a server on loopback says to `question`; nothing when it does not answer."""
    answer = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(question)
        while part := connection.recv(4096):
            answer += part
            if not to_end:
                break
    return answer
