"""Fyke's own tasks go to workers that can do them, and a worker that does only those gets no others."""

from fyke.core.queue import Share
from fyke.core.task import Kind
from tests.contract.rig import Rig, pages


async def test_each_share_gets_its_own_tasks_and_no_others(rig: Rig) -> None:
    job = await rig.job(pages(2))
    others, own = rig.queue.limited_to(Share.JOBS), rig.queue.limited_to(Share.OWN)
    assert not (await own.claim(rig.lease, 10)).tasks
    await rig.finish((await others.claim(rig.lease, 10)).tasks)
    assert not (await others.claim(rig.lease, 10)).tasks, "the last task needs the database"
    (last,) = (await own.claim(rig.lease, 10)).tasks
    assert last.kind == Kind.FINISH
    await rig.finish([last])
    assert (await rig.get(job)).state == "succeeded"
    await rig.check()


async def test_suspects_are_shared_out_the_same_way(rig: Rig) -> None:
    await rig.job(pages(1))
    await rig.finish(await rig.claim())
    await rig.job(pages(1))
    assert {task.kind for task in await rig.claim_all()} == {Kind.PAGE, Kind.FINISH}
    await rig.die()
    for share, kind in ((Share.JOBS, Kind.PAGE), (Share.OWN, Kind.FINISH)):
        queue = rig.queue.limited_to(share)
        assert (await queue.claim(rig.lease, 10)).suspects
        (task,) = (await queue.claim_suspect(rig.lease)).tasks
        assert task.kind == kind
        assert not (await queue.claim_suspect(rig.lease)).tasks
        assert not (await queue.claim(rig.lease, 10)).suspects, "what others may do is not waited for"
        await rig.finish([task])
    await rig.check()


async def test_a_part_of_the_queue_hears_its_news(rig: Rig) -> None:
    news = rig.queue.limited_to(Share.OWN).subscribe()
    rig.queue.limited_to(Share.JOBS).wake()
    assert news.is_set()
