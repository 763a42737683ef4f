"""The servers a round needs: private, on free loopback ports, in a temporary directory, on one core."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from fyke.measure.common import DISK

__all__ = ["DISK", "PACKAGES", "Missing", "Services", "served", "services"]

PACKAGES = {
    "nginx": "nginx-light",
    "postgres": "postgresql",
    "mariadbd": "mariadb-server",
    "redis-server": "redis-server",
    "node": "nodejs",
    "npm": "npm",
}
"""The Debian package that brings a program."""

START_SECONDS = 30.0
STOP_SECONDS = 20.0


class Missing(Exception):
    """A program that a service needs is not on this machine."""


class Services(Struct, frozen=True):
    """Where the private servers are: nginx by its address, the others by their URL, if there are any. The
    databases are empty; whoever uses one makes their own in it."""

    directory: Path
    nginx: str
    others: dict[str, str]

    def url(self, name: str) -> str:
        try:
            return self.others[name]
        except KeyError:
            raise Missing(f"{name} is missing: install the Debian package {PACKAGES[name]}") from None


def program(name: str) -> str:
    """The path of a server's program; Debian keeps some outside PATH."""
    places = [*os.environ.get("PATH", "").split(":"), "/usr/sbin"]
    places += sorted((str(path) for path in Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    found = shutil.which(name, path=":".join(places))
    if found is None:
        raise Missing(f"{name} is missing: install the Debian package {PACKAGES.get(name, name)}")
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _account(name: str) -> str | None:
    """The account a server gives its rights up to: none for an ordinary user, who has none to give."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam(name).pw_name
    except KeyError:
        raise Missing(f"the account {name} is missing: install its Debian package") from None


def _own(path: Path, account: str | None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    if account is not None:
        shutil.chown(path, account, account)


def _answers(port: int) -> Callable[[], bool]:
    def ask() -> bool:
        with socket.socket() as client:
            client.settimeout(1)
            return client.connect_ex(("127.0.0.1", port)) == 0

    return ask


def _wait(process: subprocess.Popen[bytes], ready: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{process.args!r} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _stop(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    if process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _running(
    command: Sequence[str],
    log: Path,
    ready: Callable[[], bool],
    account: str | None = None,
    stop: signal.Signals = signal.SIGTERM,
) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            user=account,
            group=account,
            extra_groups=None if account is None else [],
        )
    try:
        _wait(process, ready, log)
        yield
    finally:
        _stop(process, stop)


def _pinned(core: int | None) -> list[str]:
    return [] if core is None else ["taskset", "-c", str(core)]


NGINX = """
{user}
worker_processes 1;
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/nginx-error.log warn;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  types {{ text/html html; application/xml xml; text/plain txt; }}
  default_type application/octet-stream;
  charset utf-8;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 100000000;
  keepalive_timeout 300s;
  open_file_cache max=1000;
  client_body_temp_path {directory}/nginx-body;
  proxy_temp_path {directory}/nginx-proxy;
  fastcgi_temp_path {directory}/nginx-fastcgi;
  uwsgi_temp_path {directory}/nginx-uwsgi;
  scgi_temp_path {directory}/nginx-scgi;
  server {{ listen 127.0.0.1:{port} backlog=1024; root {root}; }}
}}
"""


@contextmanager
def served(root: Path, directory: Path, core: int | None) -> Iterator[str]:
    """nginx with `root` for its pages; yields its address. The pages are to be written by then or later."""
    port = free_port()
    user = "user root;" if os.getuid() == 0 else ""
    config = directory / "nginx.conf"
    config.write_text(NGINX.format(directory=directory, root=root, port=port, user=user))
    error_log = str(directory / "nginx-error.log")
    command = [*_pinned(core), program("nginx"), "-e", error_log, "-p", str(directory), "-c", str(config)]
    with _running(command, directory / "nginx.log", _answers(port)):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _postgres(directory: Path, core: int | None) -> Iterator[str]:
    port, account, data = free_port(), _account("postgres"), directory / "postgres"
    _own(data, account)
    subprocess.run(
        [program("initdb"), "-D", str(data), "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"],
        check=True,
        capture_output=True,
        cwd=data,
        user=account,
        group=account,
        extra_groups=None if account is None else [],
    )
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "fsync": "on",
        "synchronous_commit": "on",
        "shared_buffers": "256MB",
        "max_wal_size": "2GB",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [*_pinned(core), program("postgres"), "-D", str(data), *options]
    answers = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]

    def ready() -> bool:
        return subprocess.run(answers, check=False).returncode == 0

    with _running(command, directory / "postgres.log", ready, account, signal.SIGINT):
        yield f"postgresql://bench@127.0.0.1:{port}/postgres"


@contextmanager
def _mariadb(directory: Path, core: int | None) -> Iterator[str]:
    port, account, data = free_port(), _account("mysql"), directory / "mariadb"
    _own(data, account)
    begin = directory / "mariadb.sql"
    begin.write_text(
        "CREATE DATABASE IF NOT EXISTS bench CHARACTER SET utf8mb4;\n"
        "CREATE USER IF NOT EXISTS 'bench'@'127.0.0.1' IDENTIFIED BY 'bench';\n"
        "GRANT ALL ON *.* TO 'bench'@'127.0.0.1';\n"
    )
    common = ["--no-defaults", f"--datadir={data}", *([f"--user={account}"] if account else [])]
    subprocess.run(
        [
            program("mariadb-install-db"),
            *common,
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ],
        check=True,
        capture_output=True,
        cwd=data,
    )
    command = [
        *_pinned(core),
        program("mariadbd"),
        *common,
        "--bind-address=127.0.0.1",
        f"--port={port}",
        f"--socket={data / 'mariadb.sock'}",
        f"--pid-file={data / 'mariadb.pid'}",
        f"--init-file={begin}",
        "--skip-name-resolve",
        "--innodb-buffer-pool-size=256M",
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-log-file-size=512M",
        "--transaction-isolation=READ-COMMITTED",
    ]
    with _running(command, directory / "mariadb.log", _answers(port)):
        yield f"mysql://bench:bench@127.0.0.1:{port}/bench"


@contextmanager
def _redis(directory: Path, core: int | None) -> Iterator[str]:
    port, data = free_port(), directory / "redis"
    data.mkdir()
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(data),
        "save": "",
        # What BullMQ's guide to production asks for.
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    command = [*_pinned(core), program("redis-server"), *arguments]
    with _running(command, directory / "redis.log", _answers(port)):
        yield f"redis://127.0.0.1:{port}/0"


OTHERS = {"postgres": _postgres, "mariadbd": _mariadb, "redis-server": _redis}


@contextmanager
def services(root: Path, core: int | None) -> Iterator[Services]:
    """All servers, pinned to `core`; nginx serves `root`. Everything is stopped and removed at the end."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fyke-bench-", dir=DISK)))
        directory.chmod(0o755)  # the accounts of the databases pass through it
        nginx = stack.enter_context(served(root, directory, core))
        others = {}
        for name, start in OTHERS.items():
            with suppress(Missing):  # who needs it is told so in turn
                others[name] = stack.enter_context(start(directory, core))
        yield Services(directory=directory, nginx=nginx, others=others)
