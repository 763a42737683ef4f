"""What is claimed first, and that nothing waits for ever."""

from collections import Counter

import pytest

from fyke.core.clock import SECOND
from fyke.core.task import Kind, NewTask, Task
from fyke.store.conn import Conn
from fyke.store.queue.claim import claim
from tests.contract.looks import Look, watched
from tests.contract.rig import HOUR, Rig, page, pages, site


def jobs(tasks: list[Task]) -> list[int]:
    return [task.job for task in tasks]


async def pass_time(rig: Rig, seconds: float) -> None:
    """All that is written down as a time has happened so much earlier."""
    step = int(seconds * SECOND)
    await rig.execute("UPDATE lanes SET next_slot = next_slot - $1, look_at = look_at - $1", step)
    await rig.execute("UPDATE queues SET turn = turn - $1", step)


async def test_a_job_is_worked_in_the_order_of_its_plan(rig: Rig) -> None:
    await rig.job([page(seq) for seq in (5, 3, 9, 1, 7)])
    assert [t.seq for n in (2, 1, 2) for t in await rig.claim(n)] == [1, 3, 5, 7, 9]


async def test_higher_priority_goes_first_on_one_lane(rig: Rig) -> None:
    """However much earlier by the order of submission the others came."""
    low = await rig.job(pages(3), priority=-10)
    usual = await rig.job(pages(3))
    high = await rig.job(pages(3), priority=10)
    assert jobs(await rig.claim(9)) == [high] * 3 + [usual] * 3 + [low] * 3


async def test_higher_priority_goes_first_across_lanes(rig: Rig) -> None:
    low = await rig.job(pages(3, site("a")), priority=-10)
    usual = await rig.job(pages(3, site("b")))
    high = await rig.job(pages(3, site("c")), priority=10)
    assert [jobs(await rig.claim(3)) for _ in range(3)] == [[high] * 3, [usual] * 3, [low] * 3]


async def test_a_small_job_goes_before_a_large_one(rig: Rig) -> None:
    large = await rig.job(pages(1200, site("a")))
    small = await rig.job(pages(5, site("b")))
    same_lane = await rig.job(pages(5, site("a"), first=5000))
    assert set(jobs(await rig.claim(5) + await rig.claim(5))) == {small, same_lane}
    assert set(jobs(await rig.claim(10))) == {large}


async def test_the_end_of_a_job_waits_for_no_pages(rig: Rig) -> None:
    """Its last task has a lane of its own that goes before."""
    done = await rig.job(pages(1))
    await rig.finish(await rig.claim())
    await rig.job(pages(50, site("b")), priority=10)
    assert {t.kind for t in await rig.claim(5)} == {Kind.FINISH, Kind.PAGE}
    assert (await rig.get(done)).phase == "finish"


async def test_two_jobs_alternate_on_one_lane(rig: Rig) -> None:
    one = await rig.job(pages(6))
    two = await rig.job(pages(6))
    order = [jobs(await rig.claim(1))[0] for _ in range(8)]
    assert order == [one, two] * 4


async def test_two_jobs_alternate_on_a_lane_with_a_rate(rig: Rig) -> None:
    lane = site("slow", interval=SECOND)
    one = await rig.job(pages(6, lane))
    two = await rig.job(pages(6, lane))
    order = []
    for _ in range(8):
        order += jobs(await rig.claim(5))
        await rig.hurry()
    assert order == [one, two] * 4


async def test_lanes_of_equal_rank_take_turns(rig: Rig) -> None:
    """No host waits until another has run dry."""
    for name in "abcd":
        await rig.job(pages(40, site(name)))
    served = Counter([t.url[7] for _ in range(16) for t in await rig.claim(5)])
    assert served == {"a": 20, "b": 20, "c": 20, "d": 20}


async def test_many_lanes_of_one_job_take_turns(rig: Rig) -> None:
    await rig.job([page(seq, site(f"s{seq % 40}")) for seq in range(800)])
    served: set[int] = set()
    for _ in range(10):
        served |= {t.lane for t in await rig.claim(20)}
    assert len(served) >= 10, "a full lane gives way to others after one claim"


@pytest.mark.parametrize("lanes", ["ab", "aa"])
async def test_a_low_priority_waits_but_not_for_ever(rig: Rig, lanes: str) -> None:
    """Against work of higher priority that never ends."""
    low = await rig.job(pages(40, site(lanes[0])), priority=-10)
    high = await rig.job(pages(400, site(lanes[1]), first=1000), priority=10)
    order = []
    for _ in range(20):
        order += jobs(await rig.claim(5))
        await pass_time(rig, 9)
    served = Counter(order)
    assert served[high] > served[low] >= 5
    assert order[:20] == [high] * 20


async def test_of_a_lane_the_best_waiting_task_counts(rig: Rig) -> None:
    """A lane full of low priority is served early once something urgent waits in it."""
    await rig.job(pages(20, site("a")), priority=-10)
    middle = await rig.job(pages(20, site("b")))
    urgent = await rig.job(pages(2, site("a"), first=100), priority=10)
    assert jobs(await rig.claim(2)) == [urgent] * 2
    assert jobs(await rig.claim(2)) == [middle] * 2, "and as before when that is gone"


async def test_the_cap_of_a_job_is_kept_over_all_its_lanes(rig: Rig) -> None:
    job = await rig.job([page(seq, site(f"s{seq % 7}")) for seq in range(30)], max_concurrency=3)
    seen: list[Task] = []
    for _ in range(200):
        await rig.hurry()
        tasks = await rig.claim(10)
        assert (await rig.get(job)).in_flight <= 3
        await rig.check()
        await rig.finish([t for t in tasks if t.kind == Kind.PAGE][:2])
        await rig.queue.hand_back(rig.lease, [t.id for t in tasks[2:]])
        seen += tasks[:2]
        if (await rig.get(job)).phase != "crawl":
            break
    assert len({t.seq for t in seen if t.kind == Kind.PAGE}) == 30


async def test_the_cap_of_a_lane_is_kept_over_all_its_jobs(rig: Rig) -> None:
    lane = site("a", cap=3)
    for _ in range(3):
        await rig.job(pages(10, lane))
    tasks = await rig.claim(20)
    assert len(tasks) == 3
    assert await rig.claim(20) == []
    await rig.finish(tasks[:2])
    assert len(await rig.claim(20)) == 2
    await rig.check()


async def test_jobs_at_their_cap_leave_their_lane_to_others(rig: Rig) -> None:
    capped = await rig.job(pages(10), max_concurrency=1, priority=10)
    other = await rig.job(pages(10, first=100))
    assert jobs(await rig.claim(4)) == [capped, other, other, other]


async def test_a_cap_of_two_over_thousands_of_lanes_does_not_make_claims_slow(rig: Rig) -> None:
    """However many lanes a job has, claims look at few of those that have nothing to give; its two keep
    running; every lane has its turn; and other jobs are served as if it were not there."""
    lanes = 600
    job = await rig.job([page(seq, site(f"s{seq}")) for seq in range(lanes)], max_concurrency=2)
    other = await rig.job(pages(300, site("other"), first=9000))
    active = "SELECT count(*) FROM queues WHERE job = $1 AND active = 1 AND queued > 0"
    assert await rig.value(active, job) == 64
    done, others, turns = 0, 0, 40
    await rig.execute("UPDATE leases SET until = until + $1", HOUR)
    for _ in range(turns):
        looks: list[Look] = []

        async def work(conn: Conn, looks: list[Look] = looks) -> list[Task]:
            looks.clear()
            return (await claim(watched(conn, looks), rig.lease, 32)).tasks

        tasks = await rig.database.write(work)
        # A lane is read, sorted and written, so is its queue; jobs and tasks besides. PostgreSQL takes
        # some hundred rows as a whole where that is cheaper.
        most = 3000 if rig.database.name == "postgres" else 600
        assert sum(one.rows for one in looks) < most, "as many as were asked for, not as there are"
        await rig.finish(tasks)
        while await rig.activity():
            assert await rig.value(active, job) <= 64
        mine = [t for t in tasks if t.job == job]
        assert len(mine) <= 2
        done += len(mine)
        others += len([t for t in tasks if t.job == other])
    assert others == 300, "nor the other job"
    assert done >= turns
    await rig.check()
    await rig.execute("UPDATE jobs SET cap = 0 WHERE id = $1", job)
    worked = await rig.drain()
    assert len({t.seq for t in worked if t.job == job}) == lanes - done
    assert (await rig.get(job)).state == "succeeded"
    await rig.check()


async def test_queues_of_a_job_that_has_ended_go(rig: Rig) -> None:
    """A host that has served a thousand jobs is not to be looked up among a thousand rows."""
    for _ in range(5):
        await rig.job(pages(2))
        await rig.drain()
    while await rig.activity():
        pass
    assert await rig.value("SELECT count(*) FROM queues WHERE job <> 0") == 0
    await rig.job(pages(3))
    assert len(await rig.claim()) == 3
    await rig.check()


async def test_lanes_far_from_their_next_slot_make_room_for_others(rig: Rig) -> None:
    """A hundred hosts that allow one page an hour are no reason for the others to wait."""
    slow = [page(seq, site(f"slow{seq}", interval=3600 * SECOND)) for seq in range(100)]
    again = [page(1000 + seq, site(f"slow{seq}", interval=3600 * SECOND)) for seq in range(100)]
    fast = [page(2000 + seq, site(f"fast{seq}")) for seq in range(100)]
    job = await rig.job([*slow, *again, *fast], max_concurrency=2)
    await rig.execute("UPDATE leases SET until = until + $1", HOUR)
    for _ in range(1000):
        await rig.finish(await rig.claim(10))
        await rig.activity()
        if (await rig.get(job)).succeeded == 200:
            break
    assert (await rig.get(job)).succeeded == 200, "the first page of each slow host, and all of the fast"
    await rig.check()


async def test_delayed_tasks_do_not_count_as_waiting(rig: Rig) -> None:
    await rig.job([page(0, delay=3600 * SECOND)])
    batch = await rig.queue.claim(rig.lease, 5)
    assert batch.tasks == []
    assert batch.retry_in > 50_000, "nobody looks again at once"
    await rig.check()


async def test_standalone_tasks_go_before_batches(rig: Rig) -> None:
    batch = await rig.job(pages(100))
    single = await rig.job([NewTask(Kind.PAGE, 0, site(), url="http://a.test/single")])
    assert jobs(await rig.claim(1)) == [single]
    assert jobs(await rig.claim(1)) == [batch]
