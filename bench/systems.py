"""Who takes part, how each is called, and what of its work survives."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from bench.environment import HERE, PYTHON
from bench.services import Services, program

__all__ = ["CONCURRENCY", "SYSTEMS", "System", "Turn"]

CONCURRENCY = 64
FYKE = str(Path(sys.executable).parent / "fyke")


class Turn(Struct, frozen=True):
    """What a system gets for one run: the servers, a fresh directory, the URLs, how many tasks."""

    services: Services
    directory: Path
    url_list: Path
    size: int

    @property
    def out(self) -> Path:
        """Where a crawler leaves its rows as JSON lines."""
        return self.directory / "rows.jsonl"

    @property
    def exports(self) -> Path:
        """Where Fyke leaves its exports of a run."""
        return self.directory / "exports"

    def sqlite(self) -> str:
        return f"sqlite:///{self.directory / 'fyke.db'}"

    def postgres(self) -> str:
        """A new, empty database."""
        name, server = _name(self.directory), self.services.url("postgres")
        statement = f'CREATE DATABASE "{name}"'
        subprocess.run(
            [program("psql"), "-q", "-c", statement, server],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return f"{server.rpartition('/')[0]}/{name}"

    def mariadb(self) -> str:
        """A new, empty database."""
        name, server = _name(self.directory), self.services.url("mariadbd")
        parts = urlsplit(server)
        access = ["-h", "127.0.0.1", "-P", str(parts.port), f"-u{parts.username}", f"-p{parts.password}"]
        subprocess.run([program("mariadb"), *access, "-e", f"CREATE DATABASE `{name}`"], check=True)
        return f"{server.rpartition('/')[0]}/{name}"


def _name(directory: Path) -> str:
    return "bench_" + directory.name.replace("-", "_")


class System(Struct, frozen=True):
    """One participant. `size` is how many pages or tasks a run has, so that runs last 10 to 25 s."""

    name: str
    label: str
    kind: str
    size: int
    survives: str
    command: Callable[[Turn], list[str]]


def _module(name: str, *options: str) -> list[str]:
    return [str(PYTHON), "-m", name, *options]


def _scrapy(turn: Turn) -> list[str]:
    return _module("bench.peers.scrapy_crawl", "--url-list", str(turn.url_list), "--out", str(turn.out))


def _scrapy_jobdir(turn: Turn) -> list[str]:
    return [*_scrapy(turn), "--jobdir", str(turn.directory / "job")]


def _crawlee(kind: str) -> Callable[[Turn], list[str]]:
    def command(turn: Turn) -> list[str]:
        places = ["--url-list", str(turn.url_list), "--out", str(turn.out)]
        return _module(
            "bench.peers.crawlee_crawl",
            *places,
            "--storage",
            kind,
            "--storage-dir",
            str(turn.directory / "storage"),
        )

    return command


def _bare(turn: Turn) -> list[str]:
    return [sys.executable, "-m", "bench.bare", "--url-list", str(turn.url_list)]


def _fyke_crawl(database: Callable[[Turn], str]) -> Callable[[Turn], list[str]]:
    def command(turn: Turn) -> list[str]:
        options = ["--url-list", str(turn.url_list), "--concurrency", str(CONCURRENCY)]
        out = ["--out", str(turn.exports)]  # written when the time has been taken
        return [FYKE, "bench", "crawl", "--json", *options, "--database", database(turn), *out]

    return command


def _fyke_queue(database: Callable[[Turn], str]) -> Callable[[Turn], list[str]]:
    def command(turn: Turn) -> list[str]:
        return [FYKE, "bench", "queue", "--json", "--tasks", str(turn.size), "--database", database(turn)]

    return command


def _procrastinate(turn: Turn) -> list[str]:
    options = ["--database", turn.postgres(), "--tasks", str(turn.size), "--concurrency", "10"]
    return _module("bench.queues.procrastinate_noop", *options)


def _bullmq(turn: Turn) -> list[str]:
    script = HERE / "queues" / "bullmq_noop.mjs"
    return [program("node"), str(script), turn.services.url("redis-server"), str(turn.size), "200"]


SQLITE = "SQLite, WAL, synchronous=FULL (fsync with each commit)"
POSTGRES = "PostgreSQL, fsync and synchronous_commit on"
MARIADB = "MariaDB, innodb_flush_log_at_trx_commit=1 (fsync with each commit)"

CRAWLERS = (
    System(
        name="fyke",
        label="Fyke, SQLite",
        kind="crawl",
        size=20_000,
        survives=f"row and task in one commit; {SQLITE}",
        command=_fyke_crawl(Turn.sqlite),
    ),
    System(
        name="fyke-postgres",
        label="Fyke, PostgreSQL",
        kind="crawl",
        size=15_000,
        survives=f"row and task in one commit; {POSTGRES}",
        command=_fyke_crawl(Turn.postgres),
    ),
    System(
        name="bare",
        label="Bare client with Fyke's extraction",
        kind="crawl",
        size=20_000,
        survives="nothing is kept",
        command=_bare,
    ),
    System(
        name="scrapy",
        label="Scrapy",
        kind="crawl",
        size=4_000,
        survives="rows in a feed of JSON lines, no fsync; queue in memory",
        command=_scrapy,
    ),
    System(
        name="scrapy-jobdir",
        label="Scrapy, JOBDIR",
        kind="crawl",
        size=3_000,
        survives="rows in a feed of JSON lines, queue in files, no fsync",
        command=_scrapy_jobdir,
    ),
    System(
        name="crawlee-file",
        label="crawlee-python, file storage",
        kind="crawl",
        size=2_000,
        survives="a file for each request and each row, no fsync",
        command=_crawlee("file"),
    ),
    System(
        name="crawlee-sql",
        label="crawlee-python, SQL storage",
        kind="crawl",
        size=1_500,
        survives="SQLite, WAL, synchronous=NORMAL (no fsync with commits)",
        command=_crawlee("sql"),
    ),
)
QUEUES = (
    System(
        name="fyke-queue-sqlite",
        label="Fyke, SQLite",
        kind="queue",
        size=400_000,
        survives=SQLITE,
        command=_fyke_queue(Turn.sqlite),
    ),
    System(
        name="fyke-queue-postgres",
        label="Fyke, PostgreSQL",
        kind="queue",
        size=200_000,
        survives=POSTGRES,
        command=_fyke_queue(Turn.postgres),
    ),
    System(
        name="fyke-queue-mariadb",
        label="Fyke, MariaDB",
        kind="queue",
        size=100_000,
        survives=MARIADB,
        command=_fyke_queue(Turn.mariadb),
    ),
    System(
        name="bullmq",
        label="BullMQ, Redis",
        kind="queue",
        size=100_000,
        survives="Redis append-only file, fsync every second",
        command=_bullmq,
    ),
    System(
        name="procrastinate",
        label="Procrastinate, PostgreSQL",
        kind="queue",
        size=4_000,
        survives=POSTGRES,
        command=_procrastinate,
    ),
)
SYSTEMS = (*CRAWLERS, *QUEUES)
