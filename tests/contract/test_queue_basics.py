"""Claiming, settling, handing back; every verdict; and what the books say after each."""

import pytest

from fyke.core.errors import LeaseLost
from fyke.core.ids import key16
from fyke.core.outcome import AddTasks, PageRow, Verdict
from fyke.core.task import Kind, NewTask
from tests.contract.rig import Rig, outcome, page, pages, site


async def test_what_is_claimed_and_settled_is_done(rig: Rig) -> None:
    job = await rig.job(pages(3))
    await rig.check()
    tasks = await rig.claim()
    await rig.check()
    assert [task.seq for task in tasks] == [0, 1, 2]
    assert {(task.job, task.attempt, task.claims, task.alone) for task in tasks} == {(job, 1, 1, False)}
    settled = await rig.finish(tasks)
    assert sorted(settled.accepted) == sorted(task.id for task in tasks)
    assert not settled.refused
    await rig.check()
    await rig.drain()
    done = await rig.get(job)
    assert (done.state, done.total, done.succeeded, done.open) == ("succeeded", 3, 3, 0)
    rows = await rig.rows("SELECT seq, url, title FROM pages WHERE job = $1 ORDER BY seq", job)
    assert rows == [(n, f"http://a.test/{n}", f"page {n}") for n in range(3)]
    await rig.check()


async def test_a_claim_brings_the_options_of_its_jobs(rig: Rig) -> None:
    job = await rig.job(pages(1), target="article")
    batch = await rig.queue.claim(rig.lease, 5)
    assert b'"target":"article"' in batch.jobs[job].options
    assert batch.jobs[job].definition == key16("here")


async def test_nothing_is_claimed_twice(rig: Rig) -> None:
    await rig.job(pages(5))
    assert len(await rig.claim(3)) == 3
    assert [task.seq for task in await rig.claim()] == [3, 4]
    assert await rig.claim() == []


async def test_a_claim_on_an_empty_queue_says_when_to_ask_again(rig: Rig) -> None:
    batch = await rig.queue.claim(rig.lease, 5)
    assert (batch.tasks, batch.suspects) == ([], False)
    assert 0 < batch.retry_in <= 1_000_000


@pytest.mark.parametrize(
    ("verdict", "counter"),
    [
        (Verdict.SUCCEEDED, "succeeded"),
        (Verdict.FAILED, "failed"),
        (Verdict.SKIPPED, "skipped"),
        (Verdict.QUARANTINED, "failed"),
    ],
)
async def test_completing_verdicts_are_counted(rig: Rig, verdict: str, counter: str) -> None:
    job = await rig.job(pages(2))
    first, _ = await rig.claim()
    await rig.settle(outcome(first, verdict, bytes_in=700, residential_bytes=30))
    await rig.check()
    found = await rig.get(job)
    assert getattr(found, counter) == 1
    assert (found.bytes, found.residential_bytes, found.open, found.in_flight) == (700, 30, 1, 1)
    assert await rig.rows("SELECT task, job, verdict, lease FROM finished") == [
        (first.id, job, verdict, rig.lease)
    ]


async def test_a_retry_waits_and_counts_an_attempt(rig: Rig) -> None:
    await rig.job(pages(1))
    (task,) = await rig.claim()
    before = await rig.now()
    await rig.settle(outcome(task, Verdict.RETRY, delay=60_000_000))
    await rig.check()
    assert await rig.claim() == []
    assert await rig.promote() == 0
    due = await rig.value("SELECT due FROM delays")
    assert before + 60_000_000 <= due <= await rig.now() + 60_000_000
    await rig.execute("UPDATE delays SET due = $1", await rig.now())
    assert await rig.promote() == 1
    await rig.check()
    (again,) = await rig.claim()
    assert (again.id, again.attempt, again.claims) == (task.id, 2, 2)


async def test_a_requeued_task_is_back_at_its_place_with_its_new_payload(rig: Rig) -> None:
    await rig.job(pages(3))
    first, _ = await rig.claim(2)
    await rig.settle(outcome(first, Verdict.REQUEUE, payload=b'{"rung":2}'))
    await rig.check()
    tasks = await rig.claim()
    assert [(t.seq, t.attempt, t.payload) for t in tasks] == [(0, 1, b'{"rung":2}'), (2, 1, b"")]


async def test_a_requeue_may_wait_without_counting(rig: Rig) -> None:
    await rig.job(pages(1))
    (task,) = await rig.claim()
    await rig.settle(outcome(task, Verdict.REQUEUE, delay=60_000_000))
    await rig.check()
    assert await rig.claim() == []
    await rig.hurry()
    await rig.promote()
    (again,) = await rig.claim()
    assert (again.attempt, again.claims) == (1, 2)


async def test_continue_writes_and_keeps_the_task_under_its_lease(rig: Rig) -> None:
    job = await rig.job(pages(1))
    (task,) = await rig.claim()
    settled = await rig.settle(outcome(task, Verdict.CONTINUE, AddTasks(tuple(pages(2, first=1)))))
    assert settled.accepted == [task.id]
    await rig.check()
    assert (await rig.get(job)).in_flight == 1
    assert [t.seq for t in await rig.claim()] == [1, 2]
    await rig.finish([task])
    await rig.check()


async def test_partial_work_and_the_end_may_come_in_one_batch(rig: Rig) -> None:
    """None of the effects is lost when a settle buffer sends both at once."""
    job = await rig.job(pages(1))
    (task,) = await rig.claim()
    await rig.settle(
        outcome(task, Verdict.CONTINUE, AddTasks(tuple(pages(1, first=1)))),
        outcome(task, Verdict.CONTINUE, AddTasks(tuple(pages(1, first=2)))),
        rig.done(task),
    )
    await rig.check()
    found = await rig.get(job)
    assert (found.total, found.succeeded) == (3, 1)


async def test_the_last_of_two_ends_in_one_batch_counts(rig: Rig) -> None:
    job = await rig.job(pages(1))
    (task,) = await rig.claim()
    settled = await rig.settle(outcome(task, Verdict.RETRY), rig.done(task))
    assert set(settled.accepted) == {task.id}
    assert (await rig.get(job)).succeeded == 1
    await rig.check()


async def test_tasks_handed_back_are_claimable_at_once_and_count_no_attempt(rig: Rig) -> None:
    job = await rig.job(pages(3))
    tasks = await rig.claim(2)
    other = await rig.open_lease("other")
    await rig.queue.hand_back(rig.lease, [tasks[0].id])
    await rig.check()
    assert (await rig.get(job)).in_flight == 1
    again = await rig.claim(2, other)
    assert [(t.seq, t.attempt, t.alone) for t in again] == [(0, 1, False), (2, 1, False)]


async def test_only_the_holder_hands_back(rig: Rig) -> None:
    await rig.job(pages(1))
    (task,) = await rig.claim()
    other = await rig.open_lease("other")
    await rig.queue.hand_back(other, [task.id])
    assert await rig.claim(5, other) == []
    await rig.queue.hand_back(rig.lease, [])
    assert await rig.claim(5, other) == []
    await rig.check()


async def test_closing_a_lease_hands_back_all_it_holds(rig: Rig) -> None:
    await rig.job(pages(1200))
    assert len(await rig.claim(1100)) == 1100
    await rig.queue.close_lease(rig.lease)
    await rig.check()
    assert await rig.value("SELECT count(*) FROM leases") == 0
    rig.lease = await rig.open_lease()
    assert len(await rig.claim(2000)) == 1200
    with pytest.raises(LeaseLost):
        await rig.queue.claim(rig.lease + 1, 1)


async def test_handed_back_and_retried_tasks_below_the_mark_are_found_again(rig: Rig) -> None:
    """Claims read from a low-water mark on; what comes back below it moves the mark."""
    await rig.job(pages(20))
    first = await rig.claim(5)
    second = await rig.claim(5)
    await rig.finish(second)
    await rig.settle(outcome(first[1], Verdict.RETRY, delay=1))
    await rig.queue.hand_back(rig.lease, [first[3].id])
    await rig.settle(outcome(first[4], Verdict.REQUEUE))
    await rig.hurry()
    assert await rig.promote() == 1
    await rig.check()
    assert [t.seq for t in await rig.claim(4)] == [1, 3, 4, 10]


async def test_more_is_found_where_a_counter_says_too_little_or_too_much(rig: Rig) -> None:
    """A wrong counter costs a claim, not a task, and heals by itself or by the audit."""
    await rig.job(pages(6))
    await rig.execute("UPDATE queues SET queued = 60, low = 4")
    seen = [t.seq for t in (await rig.claim(10)) + (await rig.claim(10)) + (await rig.claim(10))]
    assert sorted(seen) == list(range(6))
    await rig.check()
    assert await rig.audit() == 0


async def test_the_audit_corrects_lost_counters(rig: Rig) -> None:
    await rig.job(pages(4))
    await rig.job(pages(2, site("b")))
    await rig.claim(1)
    await rig.execute("UPDATE queues SET queued = 0, low = 50")
    await rig.execute("UPDATE lanes SET queued = 0, waiting = 0, in_flight = 3")
    assert await rig.claim() == []
    assert await rig.audit() == 4
    await rig.check()
    assert len(await rig.claim_all()) == 5


async def test_whoever_waits_is_woken_when_there_may_be_work(rig: Rig) -> None:
    event = rig.queue.subscribe()
    job = await rig.job(pages(3))
    one, two, _ = await rig.claim()
    event.clear()
    await rig.settle(outcome(one, Verdict.CONTINUE, AddTasks((page(5),))))
    await event.wait()
    event.clear()
    await rig.queue.hand_back(rig.lease, [two.id])
    await event.wait()
    event.clear()
    await rig.queue.close_lease(rig.lease)
    await event.wait()
    assert (await rig.get(job)).in_flight == 0


async def test_tasks_of_every_kind_pass_through(rig: Rig) -> None:
    """Only pages count as pages, and what is no page comes before them."""
    job = await rig.job([*pages(2), NewTask(Kind.NOOP, 7, site(), payload=b"{}")])
    tasks = await rig.claim()
    assert [t.kind for t in tasks] == ["noop", "page", "page"]
    await rig.settle(*(outcome(t, Verdict.SUCCEEDED) for t in tasks))
    found = await rig.get(job)
    assert (found.total, found.succeeded, found.open) == (2, 2, 0)
    await rig.check()


async def test_a_page_row_is_written_over_by_a_later_attempt(rig: Rig) -> None:
    job = await rig.job(pages(1))
    (task,) = await rig.claim()
    await rig.settle(outcome(task, Verdict.RETRY, PageRow(0, task.url, "failed", 1, title="no"), delay=1))
    await rig.hurry()
    await rig.promote()
    (again,) = await rig.claim()
    await rig.finish([again])
    assert await rig.rows("SELECT job, seq, state, title FROM pages") == [(job, 0, "succeeded", "page 0")]
