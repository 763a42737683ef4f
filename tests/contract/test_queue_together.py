"""Many claim at once: nothing twice, nothing lost, no limit overstepped, and rates exact for all together."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Sequence

import pytest

from fyke.core.clock import SECOND
from fyke.core.outcome import AddTasks, Verdict
from fyke.core.task import LaneSpec
from fyke.store.queue.add import lane_of
from tests.contract.claimers import Order, Start, in_one_process, in_processes, in_simulated_time
from tests.contract.rig import Rig, outcome, page, pages, site

MS = 1000


async def eight(rig: Rig, want: int, unsteady: int = 0) -> list[Start]:
    """Eight claimers: in two processes where the database is shared."""
    order = Order(rig.url, 8, want, unsteady)
    return await (in_processes(order, 2) if rig.database.shared else in_one_process(order))


async def watch(rig: Rig, found: list[str], stop: asyncio.Event) -> None:
    """Look at the limits while others work; each look is one statement."""
    looks = (
        "SELECT 'lane', id, in_flight FROM lanes WHERE cap > 0 AND in_flight > cap",
        "SELECT 'job', id, in_flight FROM jobs WHERE cap > 0 AND in_flight > cap",
        "SELECT 'tasks of a lane', l.id, count(*) FROM lanes l JOIN tasks t ON t.lane = l.id AND t.state = 2"
        " WHERE l.cap > 0 GROUP BY l.id, l.cap HAVING count(*) > l.cap",
        "SELECT 'tasks of a job', j.id, count(*) FROM jobs j JOIN tasks t ON t.job = j.id AND t.state = 2"
        " WHERE j.cap > 0 GROUP BY j.id, j.cap HAVING count(*) > j.cap",
    )
    while not stop.is_set():
        for look in looks:
            found += [str(row) for row in await rig.rows(look)]
        await asyncio.sleep(0.01)


async def test_everything_is_claimed_and_settled_exactly_once(rig: Rig) -> None:
    """Three jobs, one capped, over lanes with and without caps, with retries and hand-backs between."""
    tasks = [page(seq, site(f"s{seq % 9}", cap=(0, 2, 5)[seq % 3])) for seq in range(120)]
    sizes = {
        await rig.job(tasks[:40], max_concurrency=3): 40,
        await rig.job(tasks): 120,
        await rig.job(pages(80, site("s0")), priority=10): 80,
    }
    found: list[str] = []
    stop = asyncio.Event()
    watching = asyncio.create_task(watch(rig, found, stop))
    starts = await eight(rig, 10, unsteady=6)
    stop.set()
    await watching
    assert found == []
    assert max(Counter((s.task, s.claims) for s in starts).values()) == 1, "no claim is given to two"
    done = Counter((s.job, s.seq) for s in starts if s.accepted)
    assert set(done.values()) == {1}
    assert Counter(job for job, _ in done) == sizes
    assert await rig.rows("SELECT job, count(*) FROM pages GROUP BY job ORDER BY job") == sorted(
        sizes.items()
    )
    ended = await rig.rows("SELECT state, succeeded, open FROM jobs ORDER BY id")
    assert ended == [("succeeded", size, 0) for size in sizes.values()]
    assert await rig.value("SELECT count(*) FROM tasks") == 0
    await rig.check()
    assert await rig.audit() == 0


RATES = {
    site("fast", interval=40 * MS): 40,
    site("middle", interval=80 * MS): 20,
    site("slow", interval=400 * MS): 5,
    site("burst", interval=100 * MS, burst=5): 20,
}


async def test_eight_claimers_are_together_never_faster_than_a_lane_allows(rig: Rig) -> None:
    """By the clock of the database."""
    for spec, amount in RATES.items():
        await rig.job(pages(amount, spec))
    starts = await eight(rig, 4)
    for spec, amount in RATES.items():
        keeps_its_distance(spec, amount, starts)


async def test_eight_claimers_reach_the_rates_of_lanes(rig: Rig) -> None:
    """Each asks again when it was told to, in a time that no machine is too slow for: not a start is late."""
    for spec, amount in RATES.items():
        await rig.job(pages(amount, spec))
    starts = await in_simulated_time(rig, 8, 4, sum(RATES.values()))
    for spec, amount in RATES.items():
        at = keeps_its_distance(spec, amount, starts)
        assert at[-1] - at[0] == (amount - spec.burst) * spec.interval, spec.key


def keeps_its_distance(spec: LaneSpec, amount: int, starts: Sequence[Start]) -> list[int]:
    """A burst of b lets b start at once; any b + 1 in a row span an interval, any b + n span n."""
    at = sorted(s.at for s in starts if s.lane == lane_of(spec))
    assert len(at) == amount
    for length in range(1, amount - spec.burst + 1):
        spans = zip(at, at[spec.burst - 1 + length :], strict=False)
        assert min(b - a for a, b in spans) >= length * spec.interval, spec.key
    return at


async def test_a_worker_whose_clock_is_an_hour_off_changes_nothing(rig: Rig) -> None:
    """One process is an hour ahead, one an hour behind: rates, delays and leases go by the database's."""
    if not rig.database.shared:
        pytest.skip("the clock of an embedded database is that of its only process")
    lane = site("paced", interval=50 * MS)
    job = await rig.job([*pages(16, lane), *(page(100 + n, site(f"s{n % 5}")) for n in range(60))])
    held = await rig.claim(3)
    hour = 3600 * SECOND
    working = asyncio.create_task(in_processes(Order(rig.url, 4, 5, unsteady=9), 2, (hour, -hour)))
    while not await rig.value("SELECT count(*) FROM finished"):  # noqa: ASYNC110  # others do it
        await asyncio.sleep(0.02)
    assert await rig.sweep() == 0, "no lease has run out"
    assert (await rig.finish(held)).refused == []
    starts = await working
    at = sorted(s.at for s in starts if s.lane == lane_of(lane))
    assert all(b - a >= lane.interval for a, b in itertools.pairwise(at))
    assert abs(at[-1] - await rig.now()) < 600 * SECOND
    assert max(Counter(s.seq for s in starts if s.accepted).values()) == 1
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded) == ("succeeded", 76)
    await rig.check()


async def test_a_burst_is_honoured_when_eight_ask_at_once(rig: Rig) -> None:
    lane = site("burst", interval=10 * SECOND, burst=5)
    await rig.job(pages(40, lane))
    batches = await asyncio.gather(*(rig.claim(3) for _ in range(8)))
    # Whoever found the lane locked came away with nothing; nobody asks for more than there is.
    rest = [await rig.claim(3) for _ in range(3)]
    assert sum(map(len, [*batches, *rest])) == 5


async def test_children_found_by_many_at_once_are_added_once(rig: Rig) -> None:
    """Overlapping discoveries of several workers, in lanes that none of them has seen."""
    job = await rig.job(pages(8))
    tasks = await rig.claim()
    children = [page(100 + n, site(f"new{n % 5}")) for n in range(30)]
    settled = await asyncio.gather(
        *(
            rig.settle(outcome(task, Verdict.SUCCEEDED, AddTasks(tuple(children[n : n + 20]))))
            for n, task in enumerate(tasks)
        )
    )
    assert all(not one.refused for one in settled)
    assert (await rig.get(job)).total == 8 + 27
    await rig.check()
    await rig.drain()
    assert (await rig.get(job)).succeeded == 35


async def test_jobs_added_at_once_to_one_new_lane_are_all_counted(rig: Rig) -> None:
    await asyncio.gather(*(rig.job(pages(20)) for _ in range(6)))
    await rig.check()
    assert len(await rig.claim_all()) == 120


async def test_upkeep_by_many_at_once_does_its_work_once(rig: Rig) -> None:
    """As when every process of a fleet runs it."""
    await rig.job(pages(40))
    stopped = await rig.job(pages(10, site("b")))
    tasks = await rig.claim(30)
    await rig.settle(*(outcome(t, Verdict.RETRY) for t in tasks[:10]))
    await rig.cancel(stopped)
    await rig.expire()
    steps = (rig.sweep, rig.promote, rig.activity, rig.ends, rig.audit)
    await asyncio.gather(*(step() for _ in range(4) for step in steps))
    await rig.check()
    rig.lease = await rig.open_lease()
    await rig.drain()
    assert await rig.rows("SELECT state FROM jobs ORDER BY id") == [("succeeded",), ("cancelled",)]
    await rig.check()


async def test_takeovers_in_the_midst_of_work_lose_and_double_nothing(rig: Rig) -> None:
    """Leases run out all the time while their holders go on claiming and settling."""
    job = await rig.job([page(seq, site(f"s{seq % 5}")) for seq in range(120)])
    accepted = Counter[int]()

    async def careless(number: int) -> None:
        lease = await rig.open_lease(f"{number}")
        for turn in range(12):
            tasks = await rig.claim(6, lease)
            if turn % 4 == number % 4:
                await rig.expire(lease)
                await rig.sweep()
            accepted.update((await rig.settle(*map(rig.done, tasks), lease=lease)).accepted)
            if turn % 4 == number % 4:
                lease = await rig.open_lease(f"{number}")

    await asyncio.gather(*(careless(number) for number in range(8)))
    await rig.check()
    accepted.update(task.id for task in await rig.drain() if task.job)
    assert len(accepted) == 120
    assert set(accepted.values()) == {1}
    ended = await rig.get(job)
    assert (ended.state, ended.succeeded) == ("succeeded", 120)
    await rig.check()


@pytest.mark.parametrize("want", [1, 50])
async def test_one_job_on_one_lane_keeps_eight_claimers_busy(rig: Rig, want: int) -> None:
    """They stand in each other's way, and must get on all the same."""
    await rig.job(pages(80))
    async with asyncio.timeout(20):
        starts = await in_one_process(Order(rig.url, 8, want))
    assert len({s.seq for s in starts}) == len(starts) == 80
