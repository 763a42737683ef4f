"""Fyke's programs around one database, a job for them, and its rows held against the site's log."""

import asyncio
import csv
import http.client
import io
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

import msgspec

from fyke.core.errors import StoreError
from fyke.core.ids import from_public
from fyke.core.job import ENDED
from fyke.store.conn import Conn, Database
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.sqlite_conn import SqliteConn
from tests.chaos.programs import Program
from tests.chaos.site import Site
from tests.chaos.size import Size
from tests.chaos.tally import Tally
from tests.chaos.waiting import LOOK, until
from tests.contract.books import differences

__all__ = ["Rig", "rigged"]

OPTIONS = {"max_urls": 0, "max_concurrency": 0, "traffic_budget_mb": 0, "exports": ["csv"]}


class Rig:
    """`lease` is in seconds, `given` are other settings of the programs (so they may come to the database
    by another way than the rig). Everything that was started here is gone when it is left."""

    def __init__(self, directory: Path, url: str, site: Site, *, lease: float = 15.0, **given: Any) -> None:
        self.directory = directory
        self.data = Path(given.pop("data_dir", directory / "data"))
        self.site = site
        self.lease = lease
        self.url = url
        self.embedded = url.startswith("sqlite")
        self.name = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}[url.split(":")[0]]
        policies = directory / "policies.yaml"
        policies.write_text("default:\n  delay: 0\n  concurrency: 0\n")
        self.settings = {
            "FYKE_DATA_DIR": str(self.data),
            "FYKE_DATABASE_URL": url,
            "FYKE_POLICIES": str(policies),
            "FYKE_EGRESS_ALLOW": "127.0.0.0/8",
            "FYKE_LEASE_SECONDS": str(lease),
            "FYKE_LOG_FORMAT": "json",
            "FYKE_PORT": "0",
            **{f"FYKE_{name.upper()}": str(value) for name, value in given.items()},
        }
        self.programs: list[Program] = []
        self.server: Program | None = None
        self.workers: list[Program] = []
        self.kills = 0
        self.takeovers: list[float] = []
        self._waits: dict[int, float] = {}  # when each process died whose tasks still hang on its lease
        self._watching: asyncio.Task[None] | None = None
        self._database: Database | None = None

    async def __aenter__(self) -> Self:
        if not self.embedded:
            await migrate(self.url)
            self._database = database_for(self.url, connections=2)
            await self._database.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
        for program in self.programs:
            if program.runs:
                program.resume()
                await program.kill()
        for program in self.programs:
            await program.ended()
        if self._database is not None:
            await self._database.close()
        if error is not None:
            for program in self.programs[-6:]:
                print(f"--- {program.pid}\n{program.said()}")

    # --- programs ---

    async def run(self, *arguments: str) -> Program:
        program = await Program.start(list(arguments), self.directory, self.settings)
        self.programs.append(program)
        return program

    async def serve(self, workers: int) -> Program:
        """A server with so many worker processes; 1 works itself, 0 leaves it to others."""
        self.server = await (await self.run("serve", "--workers", str(workers))).up()
        return self.server

    async def staff(self, count: int) -> None:
        """Workers of their own, which a shared database takes."""
        fresh = [await self.run("worker") for _ in range(count)]
        self.workers += [await worker.up() for worker in fresh]

    async def replace(self, dead: Program) -> None:
        """Put a new worker where one has died; it need not be up yet."""
        self.workers.remove(dead)
        self.workers.append(await self.run("worker"))

    def died(self, *pids: int) -> None:
        """Count a kill, and how long it takes until others have the tasks of the processes it hit."""
        self.kills += 1
        self._waits |= dict.fromkeys(pids, monotonic())
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="takeovers")

    async def _watch(self) -> None:
        while True:
            dead = dict(self._waits)
            try:
                rows = await self.rows(
                    "SELECT DISTINCT l.pid FROM leases l JOIN tasks t ON t.lease = l.id WHERE l.pid IN $1",
                    [*dead],
                )
            except (StoreError, sqlite3.Error):
                rows = [(pid,) for pid in dead]  # the database is away: nobody has taken anything over
            held = {row[0] for row in rows}
            for pid, since in dead.items():
                if pid not in held:
                    self.takeovers.append(monotonic() - since)
                    del self._waits[pid]
            await asyncio.sleep(LOOK)

    async def taken_over(self) -> None:
        """Wait until nothing hangs on the lease of one who is dead; but if it hangs for ever, so be it."""
        with suppress(TimeoutError):
            await until(lambda: not self._waits, seconds=self.lease + 60)

    # --- jobs ---

    def address(self) -> tuple[str, int]:
        assert self.server is not None
        (started,) = self.server.logged("started")
        host, _, port = str(started["address"]).removeprefix("http://").rpartition(":")
        return host, int(port)

    def post(self, urls: Sequence[str], key: str | None = None) -> int:
        """Submit a job and wait for the answer; its id."""
        token = (self.data / "admin.key").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        body = msgspec.json.encode({"urls": urls, "options": OPTIONS})
        with closing(http.client.HTTPConnection(*self.address(), timeout=60)) as connection:
            connection.request("POST", "/api/v1/jobs", body, headers)
            response = connection.getresponse()
            answer = msgspec.json.decode(response.read())
        assert response.status == 201, answer
        return from_public(answer["data"]["id"])

    async def submit(self, urls: Sequence[str] | None = None) -> int:
        return await asyncio.to_thread(self.post, self.site.urls if urls is None else urls)

    async def finish(self, job: int, seconds: float) -> None:
        """Wait until the job has ended, or nothing has moved for so long: what hangs is counted as stuck,
        and what is slow is not."""
        last, since = (-1, -1), monotonic()

        async def over() -> bool:
            nonlocal last, since
            if await self.has_ended(job):
                return True
            moved = (self.site.asked_for, await self.settled())
            if moved != last:
                last, since = moved, monotonic()
            return monotonic() - since > seconds

        await until(over, seconds=3600, look=0.2)
        await self.taken_over()

    async def settled(self) -> int:
        try:
            return int(await self.value("SELECT count(*) FROM finished"))
        except (StoreError, sqlite3.Error):
            return -1  # it is away

    async def has_ended(self, job: int) -> bool:
        try:
            rows = await self.rows("SELECT state FROM jobs WHERE id = $1", job)
        except (StoreError, sqlite3.Error):
            return False  # it is away
        return bool(rows) and rows[0][0] in ENDED

    # --- counting ---

    async def read(self, work: Any) -> Any:
        """Read the database. An embedded one is opened each time: a connection that stayed would spare
        the next server its recovery."""
        if self._database is not None:
            return await self._database.read(work)
        path = Path(self.url.removeprefix("sqlite:///"))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as raw:
            return await work(SqliteConn(raw))

    async def rows(self, sql: str, *args: Any) -> list[tuple[Any, ...]]:
        async def work(conn: Conn) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in await conn.fetch(sql, *args)]

        found: list[tuple[Any, ...]] = await self.read(work)
        return found

    async def value(self, sql: str, *args: Any) -> Any:
        return (await self.rows(sql, *args))[0][0]

    async def exported(self, job: int) -> list[str]:
        """The URLs in the job's full export, as they stand there."""
        rows = await self.rows("SELECT object FROM exports WHERE job = $1 AND type = 'full'", job)
        if not rows:
            return []
        text = (self.data / "objects" / rows[0][0]).read_text("utf-8-sig")
        return [row["url"] for row in csv.DictReader(io.StringIO(text))]

    async def tally(
        self, scenario: str, *jobs: int, guilty: frozenset[str] = frozenset(), late_accepted: int = 0
    ) -> Tally:
        """Hold the list of URLs, the rows, the exports and the site's log against each other. The jobs
        together are to have every page of the site once."""
        innocent = {url for url in self.site.urls if url.removeprefix(self.site.base) not in guilty}
        pages = await self.rows("SELECT url, state FROM pages")
        done = Counter(url for url, state in pages if state == "succeeded")
        aside = {url for url, state in pages if state == "quarantined"}
        exported = Counter([url for job in jobs for url in await self.exported(job)])
        settled = await self.rows(
            "SELECT job, seq, count(*) FROM finished WHERE kind = 'page'"
            " GROUP BY job, seq HAVING count(*) > 1"
        )
        open_jobs = [job for job in jobs if not await self.has_ended(job)]
        open_tasks = await self.value("SELECT count(*) FROM tasks")
        ended = not open_jobs
        lost = innocent - aside - done.keys() if ended else set()
        return Tally(
            scenario=scenario,
            database=self.name,
            tasks=len(self.site.paths),
            kills=self.kills,
            again=self.site.again(guilty),
            lost=len(lost | (done.keys() - exported.keys() if ended else set())),
            doubled=sum(n - 1 for many in (done, exported) for n in many.values())
            + sum(row[2] - 1 for row in settled),
            stuck=open_tasks + len(open_jobs),
            innocent=len(aside & innocent),
            takeover=max(self.takeovers, default=None),
            late_accepted=late_accepted,
            wrong=tuple(await self.read(differences)) if ended else (),
        )


@asynccontextmanager
async def rigged(folder: Path, url: str, size: Size, *, pages: int = 0, **given: Any) -> AsyncIterator[Rig]:
    """A rig and its site, as large as the run."""
    options = {"concurrency": size.concurrency, **given}
    async with (
        Site(pages or size.pages, delay=size.delay) as site,
        Rig(folder, url, site, lease=size.lease, **options) as rig,
    ):
        yield rig
