"""A changed policy holds for the lanes that there are, and for what waits in them."""

from functools import partial

from fyke.core.clock import SECOND
from fyke.core.outcome import SlowLane, Verdict
from fyke.core.task import LaneSpec
from fyke.store.queue.adopt import adopt_policies
from tests.contract.rig import Rig, outcome, pages, site


async def adopt(rig: Rig, **specs: LaneSpec) -> int:
    """Give lanes their limits by the first word of their names; how many lanes that changed."""
    changed, after = 0, -1 << 62
    while after != -1:
        some, after = await rig.database.write(
            partial(adopt_policies, after=after, spec_of=lambda name: specs.get(name.partition(".")[0]))
        )
        changed += some
    return changed


async def test_what_waits_is_handed_out_by_the_new_limits(rig: Rig) -> None:
    slow = site("a", interval=3600 * SECOND, cap=1)
    await rig.job(pages(5, slow))
    assert len(await rig.claim(10)) == 1
    assert await adopt(rig, a=site("a", cap=3)) == 1
    assert not await rig.claim(10), "the slot that the old rate had given stands"
    assert await adopt(rig, a=site("a", cap=3)) == 0
    await rig.check()


async def test_a_lane_may_get_a_cap_and_lose_one(rig: Rig) -> None:
    await rig.job(pages(6))
    assert await adopt(rig, a=site("a", cap=2)) == 1
    first = await rig.claim(10)
    assert len(first) == 2
    assert not await rig.claim(10)
    assert await adopt(rig, a=site("a")) == 1
    assert len(await rig.claim(10)) == 4
    await rig.check()


async def test_a_slower_rate_holds_at_once(rig: Rig) -> None:
    await rig.job(pages(5))
    assert await adopt(rig, a=site("a", interval=3600 * SECOND)) == 1
    assert len(await rig.claim(10)) == 1
    assert not await rig.claim(10)
    await rig.check()


async def test_a_halved_rate_stays_so_for_its_time(rig: Rig) -> None:
    await rig.job(pages(5, site("a", interval=SECOND)))
    (task,) = await rig.claim(10)
    halved = SlowLane(halve=True, duration=3600 * SECOND)
    await rig.settle(outcome(task, Verdict.SUCCEEDED, halved))
    assert await adopt(rig, a=site("a", interval=SECOND // 2)) == 1
    assert await rig.lane(site("a"), "spacing") == 2 * SECOND
    assert await rig.lane(site("a"), "base_spacing") == SECOND // 2
    await rig.check()


async def test_lanes_that_no_policy_is_for_are_left_alone(rig: Rig) -> None:
    await rig.job(pages(2, site("a", cap=1)) + pages(2, site("b", cap=1), first=2))
    assert await adopt(rig, b=site("b", cap=2)) == 1
    assert len(await rig.claim(10)) == 3
    await rig.check()
