"""A database as it is after weeks: thousands of lanes, tasks, jobs that have ended, and their results."""

from collections.abc import Iterator, Sequence

from fyke.core.clock import SECOND
from fyke.core.ids import key16, new_ids
from fyke.store.conn import Conn, Database, Row
from fyke.store.metrics import NAMES
from fyke.store.queue.lanes import OWN_BAND
from fyke.store.schema import metadata

__all__ = ["DEFINITION", "ENDED", "LANES", "LARGE", "OLD", "fill"]

LANES = 10_000
JOBS = 5_000
LARGE = 7  # the job whose tasks wait: one in each lane, and 10,000 in the first
STOPPED = 8  # as many that must not run
ENDED = 9  # the job that has results
OLD = 100  # jobs from here on ended long ago
ROWS = 20_000  # of each kind of result
CHUNK = 5_000
DEFINITION = key16("weekly")
EVENT = (
    '{"total":1,"succeeded":1,"failed":0,"skipped":0,"bytes":1,"planned":true,"state":"running",'
    '"close_reason":null}'
)


def jobs(now: int) -> Iterator[Row]:
    for number in range(1, JOBS):
        running = number < ENDED
        stop = "cancel" if number == STOPPED else None
        at = now - (1 + number % 25) * 86_400 * SECOND
        open_tasks = 2 * LANES if number in (LARGE, STOPPED) else int(running)
        yield (
            number,
            "list",
            "here",
            DEFINITION if number % 50 == 0 else key16(f"other {number}"),
            f"d{number % 40}.test",
            "product",
            "{}",
            "running" if running else ("succeeded", "partial", "failed")[number % 3],
            "crawl" if running else "done",
            stop,
            3,
            2 if number == STOPPED else 0,
            open_tasks,
            1,
            open_tasks,
            at,
            at,
            None if running else at + 60 * SECOND,
            int(running and number != STOPPED),
        )


JOB = (
    "id", "source_kind", "source", "definition", "domain", "target", "options", "state", "phase", "stop",
    "band", "cap", "open", "planned", "total", "created_at", "started_at", "finished_at", "lively",
)  # fmt: skip


def tasks(now: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Tasks, delays, suspects."""
    ids = iter(new_ids(5 * LANES))
    rows: list[Row] = []
    for job, state in ((LARGE, 0), (STOPPED, 0)):
        rows += [(next(ids), job, 1 + n % LANES, "page", state, n, n, "http://x.test/") for n in range(LANES)]
        rows += [(next(ids), job, 1, "page", state, LANES + n, n, "http://x.test/") for n in range(LANES)]
    later: list[Row] = [
        (next(ids), LARGE, 1 + n, "page", 1, n, n, "http://x.test/") for n in range(ROWS // 4)
    ]
    struck: list[Row] = [(next(ids), LARGE, 1 + n, "page", 3, n, n, "http://x.test/") for n in range(200)]
    delays: list[Row] = [
        (row[0], row[1], now - 1 if n < 300 else now + n * SECOND) for n, row in enumerate(later)
    ]
    return [*rows, *later, *struck], delays, [(row[0], row[1], now + 3600 * SECOND) for row in struck]


async def put(database: Database, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), CHUNK):
        some = rows[start : start + CHUNK]
        await database.write(lambda conn, some=some: conn.insert(table, columns, some))  # type: ignore[misc]  # bound default


async def fill(database: Database, *, analyze: bool) -> None:
    """Fill it; with or without telling the planner."""
    now = await database.read(lambda conn: conn.now())
    await put(database, "jobs", JOB, list(jobs(now)))
    lanes = [(n, f"{n}.test", 1, 3, now - n, now - n, 2 if n > 1 else 10_000) for n in range(1, LANES + 1)]
    await put(database, "lanes", ("id", "name", "waiting", "band", "look_at", "next_slot", "queued"), lanes)
    own = (LANES + 1, "fyke:finish", 0, OWN_BAND, 0, 0, 0)
    await put(database, "lanes", ("id", "name", "waiting", "band", "look_at", "next_slot", "queued"), [own])
    queues = [
        (lane, job, LANES + 1 if lane == 1 else 1, 0, lane, int(job == LARGE))
        for job in (LARGE, STOPPED)
        for lane in range(1, LANES + 1)
    ]
    await put(database, "queues", ("lane", "job", "queued", "low", "turn", "active"), queues)
    made, delays, suspects = tasks(now)
    columns = ("id", "job", "lane", "kind", "state", "place", "seq", "url")
    await put(database, "tasks", (*columns, "payload"), [(*row, "") for row in made])
    await put(database, "delays", ("task", "job", "due"), delays)
    await put(database, "suspects", ("task", "job", "due"), suspects)
    await put(
        database, "leases", ("id", "worker", "host", "until"), [(n, "w", "h", 1 << 60) for n in range(500)]
    )
    await results(database, now)
    if analyze:
        await database.write(_analyze)


async def results(database: Database, now: int) -> None:
    old = now - 3 * 86_400 * SECOND
    for job in (ENDED, OLD):
        keys = [key16(f"{job} {n}") for n in range(ROWS)]
        pages = [
            (
                job,
                n,
                n,
                "failed" if n % 50 == 49 else "succeeded",
                "http://x.test/",
                now,
                "timeout" if n % 50 == 49 else None,
            )
            for n in range(ROWS)
        ]
        await put(
            database, "pages", ("job", "seq", "task", "state", "url", "fetched_at", "error_class"), pages
        )
        await put(database, "seen", ("job", "url_key"), [(job, key) for key in keys])
        await put(
            database,
            "events",
            ("job", "number", "at", "type", "data"),
            [(job, n, old, "settled", EVENT) for n in range(ROWS // 2)],
        )
        changes = [(job, n, "http://x.test/", "MODIFIED", old, "") for n in range(ROWS // 2)]
        await put(
            database, "changes", ("job", "seq", "url", "change_type", "curr_at", "fields_changed"), changes
        )
    finished = [(n, ENDED, 5, 1, "page", n, "succeeded", now) for n in range(ROWS)]
    await put(
        database, "finished", ("task", "job", "lease", "claims", "kind", "seq", "verdict", "at"), finished
    )
    snapshots = [
        (key16(f"{ENDED} {n}"), "product", "http://x.test/", "d9.test", "{}", old) for n in range(ROWS)
    ]
    await put(
        database,
        "snapshots",
        ("url_key", "target", "url", "domain", "last_data", "last_crawl_at"),
        snapshots,
    )
    samples = [
        (job, old + n * SECOND, name, 1.0, "{}")
        for job in (1, 2, LARGE)
        for n in range(500)
        for name in NAMES
    ]
    await put(database, "metrics", ("job", "at", "name", "value", "labels"), samples)
    exports = [(10 * n + m, n, "full", f"f{m}", "o", old) for n in range(OLD, JOBS) for m in range(3)]
    await put(database, "exports", ("id", "job", "type", "format", "object", "created_at"), exports)
    answers = [
        (key16(f"k{n}") * 2, key16("b") * 2, 201, "{}", old if n < 300 else now) for n in range(ROWS // 2)
    ]
    await put(database, "idempotency", ("key_hash", "body_hash", "status", "response", "created_at"), answers)


async def _analyze(conn: Conn) -> None:
    if type(conn).__name__ == "MysqlConn":
        await conn.fetch(f"ANALYZE TABLE {', '.join(metadata.tables)}")
    else:
        await conn.execute("ANALYZE")
