"""What the statements look at, on a database that has seen weeks of work: as many rows as they need, never
a large table from end to end; whether or not the planner has been told the figures (SQLite's never is)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fyke.core.outcome import Compare, PageRow, Verdict
from fyke.core.task import Task
from fyke.store.conn import Conn
from fyke.store.events import read_events
from fyke.store.exports import list_exports
from fyke.store.health import read_load
from fyke.store.jobs import JobFilter, get_job, latest_of, list_jobs
from fyke.store.listings import absent, kept_listings, listings_before, still_needed
from fyke.store.metrics import sample
from fyke.store.migrate import migrate
from fyke.store.pages import read_changes, read_pages
from fyke.store.purge import expire, forget_finished, purge
from fyke.store.queue import upkeep
from fyke.store.queue.activity import settle_activity
from fyke.store.queue.audit import audit, audit_jobs
from fyke.store.queue.claim import claim
from fyke.store.queue.settle import settle
from fyke.store.queue.suspects import claim_suspect
from fyke.store.results import PageFilter, group_failures, list_changes, list_pages
from fyke.store.retry_job import failed_pages
from tests.conftest import shared
from tests.contract.conftest import SERVERS
from tests.contract.crowd import DEFINITION, ENDED, OLD, fill
from tests.contract.looks import Look, watched
from tests.contract.rig import HOUR, Rig, outcome
from tests.services import Services

MOST = 3_000  # rows for one statement: all tables that matter here have 5,000 or more

# What counts cannot but look at what it counts. None of it grows with a table of tasks or results but the
# audit, which takes as many lanes at a time as have 20,000 tasks in all, or one.
COUNTS = {
    "audit": 22_000,  # hourly
    "audit of jobs": 26_000,  # hourly; the queues of one job
    "promote": 6_000,  # 5,000 delays are few enough for PostgreSQL to read them all, for 300 of them
    "expire": 6_000,  # hourly; all jobs
    "load": 15_000,  # all jobs and exports, in indexes
    "failures": 45_000,  # the 20,000 pages of a job, once to be counted and once to be numbered
    "failed pages": 11_000,  # 5,000 pages at a time, by PostgreSQL counted twice
}

Op = Callable[[Conn], Awaitable[Any]]


KINDS = ["sqlite", "postgres", "mariadb"]
known = pytest.mark.parametrize("crowded_url", KINDS, indirect=True, scope="module")
unknown = pytest.mark.parametrize(
    "crowded_url", [*KINDS, "postgres not analyzed"], indirect=True, scope="module"
)


@pytest.fixture(scope="module")
def crowded_url(
    request: pytest.FixtureRequest, services: Services, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A full database of each kind in turn."""

    async def make(url: str) -> None:
        await migrate(url)
        rig = Rig(url)
        await rig.database.open()
        await fill(rig.database, analyze=request.param in SERVERS)
        await rig.close()

    if request.param == "sqlite":
        path: Path = tmp_path_factory.mktemp("crowd") / "fyke.db"
        asyncio.run(make(f"sqlite:///{path}"))
        yield f"sqlite:///{path}"
        return
    with shared(services, SERVERS[request.param.partition(" ")[0]]).database() as url:
        asyncio.run(make(url))
        yield url


@pytest.fixture
async def crowd(crowded_url: str) -> AsyncIterator[Rig]:
    rig = Rig(crowded_url)
    await rig.open()
    yield rig
    await rig.close()


async def look(rig: Rig, op: Op, *, write: bool = True) -> tuple[Any, list[Look]]:
    looks: list[Look] = []

    async def work(conn: Conn) -> Any:
        looks.clear()
        return await op(watched(conn, looks))

    answer = await rig.database.write(work)
    return answer, looks


def judge(looks: list[Look], most: int = MOST) -> None:
    assert looks
    for one in looks:
        said = f"{one.rows} rows, {one.whole} whole, for {' '.join(one.sql.split())[:300]}\n{one.plan}"
        assert one.rows <= most, said


@unknown
async def test_claims_settlings_and_hand_backs(crowd: Rig, request: pytest.FixtureRequest) -> None:
    """Without figures, PostgreSQL takes 200 look-ups for more than the whole of a table: until it has
    looked at the table by itself, which takes a minute."""
    for want in (1, 8) if "not analyzed" in request.node.name else (1, 200):
        batch, looks = await look(crowd, lambda conn, want=want: claim(conn, crowd.lease, want))  # type: ignore[misc]
        assert len(batch.tasks) == want
        judge(looks, 100 + 20 * want)
        tasks: list[Task] = batch.tasks
        outcomes = [
            outcome(
                t,
                Verdict.SUCCEEDED if n % 3 else Verdict.RETRY,
                PageRow(t.seq, t.url, "succeeded", 1),
                Compare(t.seq, t.url, "a.test", "product", 1),
                delay=HOUR,
            )
            for n, t in enumerate(tasks[: len(tasks) // 2 + 1])
        ]
        _, looks = await look(crowd, lambda conn, o=outcomes: settle(conn, crowd.lease, o))  # type: ignore[misc]
        judge(looks, 100 + 20 * want)
        _, looks = await look(crowd, lambda conn, o=outcomes: settle(conn, crowd.lease, o))  # type: ignore[misc]
        judge(looks, 100 + 20 * want)
        rest = [t.id for t in tasks[len(outcomes) :]]
        _, looks = await look(crowd, lambda conn, r=rest: upkeep.free_lease(conn, crowd.lease, r))  # type: ignore[misc]
        judge(looks, 100 + 20 * want)


@known
async def test_upkeep(crowd: Rig) -> None:
    await crowd.claim(100)
    await crowd.expire()
    steps: dict[str, Op] = {
        "sweep": upkeep.sweep,
        "promote": upkeep.promote,
        "settle_activity": settle_activity,
        "end_stopped": upkeep.end_stopped,
        "audit": audit,
        "audit of jobs": audit_jobs,
        "sample": sample,
        "forget_finished": forget_finished,
        "expire": partial(expire, keep=24 * HOUR * 20, keep_failures=24 * HOUR * 20),
        "purge": purge,
        "suspects": partial(claim_suspect, lease=await crowd.open_lease()),
    }
    wrong = []
    for name, step in steps.items():
        for _ in range(2):
            _, looks = await look(crowd, step)
            try:
                judge(looks, COUNTS.get(name, MOST))
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
    assert not wrong, "\n\n".join(wrong)


@known
async def test_reads(crowd: Rig) -> None:
    job = await crowd.get(100)
    reads: dict[str, Op] = {
        "pages": partial(read_pages, job=ENDED, after=9_000, limit=1_000, kind="full"),
        "changes": partial(read_changes, job=ENDED, after=2_000, limit=1_000),
        "absent": partial(absent, listed_by=ENDED, job=OLD, target="product", after=4_000, limit=500),
        "list_pages": partial(list_pages, job=ENDED, wanted=PageFilter(after=7_000)),
        "list_pages by state": partial(
            list_pages, job=ENDED, wanted=PageFilter(state="failed", after=100, limit=20)
        ),
        "failures": partial(group_failures, job=ENDED, after=0, limit=20, samples=5),
        "list_changes": partial(list_changes, job=ENDED, change_type="MODIFIED", after=10, limit=50),
        "failed pages": partial(failed_pages, job=ENDED, after=-1, error_class=None),
        "events": partial(read_events, job=ENDED, after=5_000, limit=200),
        "jobs": partial(list_jobs, wanted=JobFilter()),
        "jobs of a domain": partial(list_jobs, wanted=JobFilter(domain="d7.test")),
        "failed jobs": partial(list_jobs, wanted=JobFilter(state="failed", after=3_000)),
        "running jobs": partial(list_jobs, wanted=JobFilter(state="running")),
        "jobs of a time": partial(
            list_jobs, wanted=JobFilter(created_from=job.created_at, created_to=job.created_at + 5)
        ),
        "one job": partial(get_job, job=ENDED),
        "latest": partial(latest_of, definition=DEFINITION),
        "listings before": partial(listings_before, definition=DEFINITION, job=job.id),
        "listings kept": partial(kept_listings, definition=DEFINITION, job=job.id),
        "still needed": partial(still_needed, job=job.id),
        "exports": partial(list_exports, job=None, after=None, limit=50),
        "exports of a job": partial(list_exports, job=300, after=None, limit=50),
        "load": read_load,
    }
    wrong = []
    for name, read in reads.items():
        _, looks = await look(crowd, read)
        try:
            judge(looks, COUNTS.get(name, MOST))
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n\n".join(wrong)
