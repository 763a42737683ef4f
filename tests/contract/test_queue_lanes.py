"""The rate of a lane: how far apart starts are, what a burst may, and what a site's wishes do to it."""

from fyke.core.clock import SECOND
from fyke.core.outcome import SlowLane, Verdict
from tests.contract.rig import Rig, outcome, pages, site

MS = 1000


async def test_a_slow_lane_gives_one_task_and_then_none_until_its_time(rig: Rig) -> None:
    lane = site("slow", interval=SECOND)
    await rig.job(pages(5, lane))
    batch = await rig.queue.claim(rig.lease, 5)
    (task,) = batch.tasks
    assert (task.wait, task.interval) == (0, SECOND)
    assert await rig.claim(5) == []
    gap = await rig.lane(lane, "next_slot") - await rig.now()
    assert 0 < gap <= SECOND
    again = await rig.queue.claim(rig.lease, 5)
    assert 50 * MS < again.retry_in <= SECOND, "whoever asks is told when"


async def test_a_fast_lane_hands_out_ahead_with_a_start_for_each(rig: Rig) -> None:
    lane = site("fast", interval=10 * MS)
    await rig.job(pages(50, lane))
    tasks = await rig.claim(50)
    waits = [t.wait for t in tasks]
    assert waits == [n * 10 * MS for n in range(len(tasks))]
    assert 190 * MS <= waits[-1] <= 210 * MS, "no further ahead than a worker can hold to"


async def test_a_burst_may_start_at_once(rig: Rig) -> None:
    lane = site("burst", interval=SECOND, burst=4)
    await rig.job(pages(9, lane))
    assert [t.wait for t in await rig.claim(9)] == [0, 0, 0, 0]
    assert await rig.claim(9) == []
    await rig.execute("UPDATE lanes SET next_slot = next_slot - $1, look_at = look_at - $1", 2 * SECOND)
    assert len(await rig.claim(9)) == 2, "what was saved up since"


async def test_a_lane_at_rest_saves_no_more_than_its_burst(rig: Rig) -> None:
    lane = site("burst", interval=SECOND, burst=2)
    await rig.job(pages(1, lane))
    await rig.drain()
    await rig.execute("UPDATE lanes SET next_slot = next_slot - $1, look_at = look_at - $1", 900 * SECOND)
    await rig.job(pages(9, lane))
    assert len(await rig.claim(9)) == 2


async def test_a_new_job_does_not_loosen_the_limits_of_a_lane(rig: Rig) -> None:
    await rig.job(pages(5, site("a", interval=SECOND, cap=1)))
    await rig.job(pages(5, site("a", interval=0, cap=9), first=10))
    assert len(await rig.claim(10)) == 1


async def test_a_pause_is_kept_by_all_lanes(rig: Rig) -> None:
    """With a rate, without one, with a burst, and while several tasks run."""
    for lane in (site("free"), site("paced", interval=10 * MS), site("burst", interval=10 * MS, burst=9)):
        await rig.job(pages(20, lane))
        (task,) = await rig.claim(1)
        asked = await rig.now()
        await rig.settle(outcome(task, Verdict.RETRY, SlowLane(pause=30 * SECOND), delay=90 * SECOND))
        assert await rig.claim(20) == []
        again = await rig.queue.claim(rig.lease, 20)
        assert again.retry_in > 50 * MS
        # A little before its end, a paced lane is handed out with starts that are not before it.
        looked = await rig.lane(lane, "look_at")
        assert looked >= asked + 29 * SECOND
        await rig.execute(
            "UPDATE lanes SET next_slot = next_slot - $1, look_at = look_at - $1 WHERE name = $2",
            looked - await rig.now(),
            lane.key,
        )
        ends = await rig.lane(lane, "next_slot") - (lane.burst - 1) * lane.interval
        tasks = await rig.claim(20)
        now = await rig.now()
        assert tasks
        assert all(now + t.wait >= ends for t in tasks)
        await rig.finish([t for t in tasks if t])
        await rig.execute("UPDATE lanes SET look_at = $1 WHERE name = $2", 1 << 60, lane.key)


async def test_a_longer_pause_is_not_cut_short_by_a_shorter_one(rig: Rig) -> None:
    await rig.job(pages(2))
    one, two = await rig.claim(2)
    await rig.settle(outcome(one, Verdict.SUCCEEDED, SlowLane(pause=60 * SECOND)))
    long = await rig.lane(site(), "next_slot")
    await rig.settle(outcome(two, Verdict.SUCCEEDED, SlowLane(pause=SECOND)))
    assert await rig.lane(site(), "next_slot") == long


async def test_a_rate_is_halved_once_and_restored_after_its_time(rig: Rig) -> None:
    lane = site("a", interval=100 * MS)
    await rig.job(pages(30, lane))
    tasks = await rig.claim(3)
    slow = SlowLane(halve=True, duration=60 * SECOND)
    await rig.settle(*(outcome(t, Verdict.SUCCEEDED, slow) for t in tasks))
    assert await rig.lane(lane, "spacing") == 200 * MS, "three answers of one burst count as one"
    await rig.hurry()
    (task,) = await rig.claim(1)
    assert task.interval == 200 * MS
    await rig.execute("UPDATE lanes SET slow_until = slow_until - $1", 40 * SECOND)
    await rig.settle(outcome(task, Verdict.SUCCEEDED, slow))
    assert await rig.lane(lane, "spacing") == 400 * MS, "it did not help: halved again"
    await rig.execute("UPDATE lanes SET slow_until = 5")
    await rig.hurry()
    await rig.claim(1)
    await rig.hurry()
    assert await rig.lane(lane, "spacing") == 100 * MS
    assert {t.interval for t in await rig.claim(3)} == {100 * MS}


async def test_a_lane_without_a_rate_gets_one_while_it_is_slowed(rig: Rig) -> None:
    await rig.job(pages(30))
    (task,) = await rig.claim(1)
    await rig.settle(outcome(task, Verdict.SUCCEEDED, SlowLane(halve=True, duration=60 * SECOND)))
    assert await rig.lane(site(), "spacing") > 0
    assert len(await rig.claim(30)) < 20
    await rig.execute("UPDATE lanes SET slow_until = 5")
    await rig.hurry()
    await rig.claim(1)
    await rig.hurry()
    assert len(await rig.claim(30)) >= 10
    assert await rig.lane(site(), "spacing") == 0


async def test_a_crawl_delay_is_the_least_from_then_on(rig: Rig) -> None:
    lane = site("a", interval=100 * MS)
    await rig.job(pages(30, lane))
    one, two = await rig.claim(2)
    await rig.settle(outcome(one, Verdict.SUCCEEDED, SlowLane(interval=3 * SECOND)))
    await rig.settle(outcome(two, Verdict.SUCCEEDED, SlowLane(interval=SECOND)))
    assert await rig.lane(lane, "spacing") == 3 * SECOND
    await rig.hurry()
    (task,) = await rig.claim(9)
    assert task.interval == 3 * SECOND
    await rig.settle(outcome(task, Verdict.SUCCEEDED, SlowLane(halve=True, duration=9)))
    await rig.execute("UPDATE lanes SET slow_until = 5")
    await rig.hurry()
    await rig.claim(1)
    assert await rig.lane(lane, "spacing") == 3 * SECOND, "after being slowed, too"


async def test_what_started_late_keeps_its_distance_from_the_next(rig: Rig) -> None:
    lane = site("a", interval=SECOND, cap=1)
    await rig.job(pages(3, lane))
    (task,) = await rig.claim(5)
    before = await rig.lane(lane, "next_slot")
    await rig.settle(outcome(task, Verdict.SUCCEEDED, late=300 * MS))
    assert await rig.lane(lane, "next_slot") == before + 300 * MS


async def test_hand_backs_do_not_give_slots_twice(rig: Rig) -> None:
    """Whether the slot was used is not known: the next start keeps its distance all the same."""
    lane = site("a", interval=SECOND)
    await rig.job(pages(3, lane))
    (task,) = await rig.claim(5)
    await rig.queue.hand_back(rig.lease, [task.id])
    assert await rig.claim(5) == []
    await rig.hurry()
    (again,) = await rig.claim(5)
    assert again.seq == task.seq
