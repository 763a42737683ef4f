"""How the whole is: read cheaply enough to be asked every few seconds, however much waits.

Depths come from the counters that jobs and lanes keep; ages from the oldest tasks, whose ids say when
they were made.
"""

from typing import Final, Literal, get_args

from msgspec import Struct

from fyke.core.clock import SECOND
from fyke.core.ids import made_at
from fyke.store.conn import Conn
from fyke.store.queue.add import lane_of
from fyke.store.queue.progress import FINISH_LANE

__all__ = [
    "WORKER_STATES",
    "DomainLoad",
    "Lease",
    "Load",
    "QueueState",
    "WorkerState",
    "at_work",
    "load_of",
    "read_load",
]

OLDEST: Final = 1000  # tasks looked at for their age
ACTIVE: Final = ("queued", "running", "cancelling")
WorkerState = Literal["idle", "busy", "disconnected"]
WORKER_STATES: Final[tuple[WorkerState, ...]] = get_args(WorkerState)


class Lease(Struct, frozen=True, gc=False):
    """A worker as the queue knows it: how many seconds ago it took its lease, and how many are left of it.
    One whose lease has run out (`left` is not above 0) is disconnected, one that holds tasks is busy."""

    worker: str
    host: str
    pid: int
    age: float
    left: float
    busy: bool

    @property
    def state(self) -> WorkerState:
        if self.left <= 0:
            return "disconnected"
        return "busy" if self.busy else "idle"


class QueueState(Struct, frozen=True, gc=False):
    """Tasks of one kind that wait or run, and how old the oldest of them is, in seconds."""

    kind: str
    depth: int
    age: float


class DomainLoad(Struct, frozen=True, gc=False):
    """What a domain's jobs have done since they began."""

    domain: str
    succeeded: int
    failed: int
    skipped: int
    bytes: int


class Load(Struct, frozen=True):
    """The state of the queue and of those who work on it."""

    leases: tuple[Lease, ...]
    queues: tuple[QueueState, ...]
    running: int
    jobs: dict[str, int]
    exports: int


async def at_work(conn: Conn) -> bool:
    """Whether there is a worker: whose lease has run out is gone."""
    now = await conn.now()
    return bool(await conn.fetch("SELECT 1 FROM leases WHERE until > $1 LIMIT 1", now))


async def read_load(conn: Conn) -> Load:
    now = await conn.now()
    leases = await conn.fetch(
        # Not EXISTS, which PostgreSQL may answer from a list of all tasks.
        "SELECT worker, host, pid, opened_at, until,"
        " (SELECT t.id FROM tasks t WHERE t.lease = leases.id ORDER BY t.lease LIMIT 1)"
        " FROM leases ORDER BY opened_at LIMIT 1000"
    )
    open_tasks, running = (
        await conn.fetch(
            "SELECT coalesce(sum(open), 0), coalesce(sum(in_flight), 0) FROM jobs"
            " WHERE phase = 'crawl' AND state IN $1",
            list(ACTIVE),
        )
    )[0]
    plans = (
        await conn.fetch(
            "SELECT count(*) FROM sources s JOIN jobs j ON j.id = s.job"
            " WHERE s.state = 'reading' AND j.phase = 'crawl' AND j.state IN $1",
            list(ACTIVE),
        )
    )[0][0]
    finishing = await conn.fetch("SELECT queued, in_flight FROM lanes WHERE id = $1", lane_of(FINISH_LANE))
    depths = {
        "page": max(0, int(open_tasks) - plans),
        "plan": min(int(open_tasks), plans),
        "finish": sum(finishing[0]) if finishing else 0,
    }
    ages = await _ages(conn, now)
    states = await conn.fetch("SELECT state, count(*) FROM jobs WHERE hidden = 0 GROUP BY state")
    exports = (await conn.fetch("SELECT count(*) FROM exports"))[0][0]
    return Load(
        tuple(
            Lease(worker, host, pid, (now - at) / SECOND, (until - now) / SECOND, task is not None)
            for worker, host, pid, at, until, task in leases
        ),
        tuple(QueueState(kind, depth, ages.get(kind, 0.0)) for kind, depth in depths.items()),
        int(running),
        {row[0]: row[1] for row in states},
        exports,
    )


async def _ages(conn: Conn, now: int) -> dict[str, float]:
    """By kind, the age of the oldest task that counts in the depth; a kind whose oldest is younger than all
    that were looked at has none. Tasks are younger than their job, so those of jobs that stopped before the
    oldest at work are not even looked at."""
    ages: dict[str, float] = {}
    first = await conn.fetch(
        "SELECT min(id) FROM jobs WHERE (phase = 'crawl' AND state IN $1) OR phase = 'finish'", list(ACTIVE)
    )
    if first[0][0] is None:
        return ages
    tasks = await conn.fetch(
        "SELECT kind, id, job FROM tasks WHERE id > $1 ORDER BY id LIMIT $2", first[0][0], OLDEST
    )
    at_work = await conn.fetch(
        "SELECT id FROM jobs WHERE id IN $1 AND phase = 'crawl' AND state IN $2",
        sorted({0, *(job for _, _, job in tasks)}),
        list(ACTIVE),
    )
    counted = {0, *(job for (job,) in at_work)}  # Fyke's own tasks are job 0's
    for kind, identity, job in tasks:
        if job in counted:
            ages.setdefault(kind, max(0.0, (now - made_at(identity)) / SECOND))
    return ages


async def load_of(conn: Conn, most: int) -> list[DomainLoad]:
    """The domains with the most pages, and all others together under `other`."""
    rows = await conn.fetch(
        "SELECT domain, sum(succeeded), sum(failed), sum(skipped), sum(bytes) FROM jobs"
        " GROUP BY domain ORDER BY sum(succeeded + failed + skipped) DESC, domain"
    )
    loads = [DomainLoad(row[0] or "none", *(int(value) for value in row[1:])) for row in rows]
    rest = loads[most:]
    if rest:
        loads[most:] = [
            DomainLoad(
                "other",
                sum(load.succeeded for load in rest),
                sum(load.failed for load in rest),
                sum(load.skipped for load in rest),
                sum(load.bytes for load in rest),
            )
        ]
    return loads
