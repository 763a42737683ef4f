"""Jobs: what is one task and what two, plans read in order, budgets, an end that comes once, resuming."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from fyke.core.clock import SECOND
from fyke.core.errors import Conflict, JobNotFound
from fyke.core.ids import key16
from fyke.core.job import JobOptions
from fyke.core.outcome import AddSources, AddTasks, Effect, EndJob, JobLog, Source, SourceRead, Verdict
from fyke.core.retry import RetryPolicy
from fyke.core.task import Kind, NewTask, Task
from fyke.engine.failure import outcome_of
from fyke.store.jobs import Job
from tests.contract.rig import Rig, outcome, page, pages, site

FREE = JobOptions(max_urls=0, max_concurrency=0, traffic_budget_mb=0, residential_limit_mb=0)


async def end(rig: Rig, job: int) -> Job:
    """Run the job's last task."""
    await rig.hurry()
    (last,) = [task for task in await rig.claim() if task.kind == Kind.FINISH]
    assert msgspec.json.decode(last.payload) == {"job": job}
    await rig.finish([last])
    return await rig.get(job)


# --- what is one task ---


async def test_a_url_given_twice_is_one_task(rig: Rig) -> None:
    job = await rig.job([page(0), page(1, url="http://a.test/0"), page(2)])
    found = await rig.get(job)
    assert (found.total, found.open) == (2, 2)
    (one, two) = await rig.claim()
    assert (one.seq, two.seq) == (0, 2)
    children = AddTasks((page(5, url="http://a.test/2"), page(6), page(7, url="http://a.test/6")))
    await rig.settle(outcome(one, Verdict.SUCCEEDED, children))
    assert [task.seq for task in await rig.claim()] == [6]
    await rig.check()


async def test_two_outcomes_that_find_the_same_url_add_it_once(rig: Rig) -> None:
    job = await rig.job(pages(2))
    one, two = await rig.claim()
    child = AddTasks((page(9),))
    await rig.settle(outcome(one, Verdict.SUCCEEDED, child), outcome(two, Verdict.SUCCEEDED, child))
    assert (await rig.get(job)).total == 3
    await rig.check()


async def test_the_same_url_in_two_jobs_is_two_tasks(rig: Rig) -> None:
    await rig.job(pages(1))
    await rig.job(pages(1))
    assert len(await rig.claim_all()) == 2


async def test_a_dedupe_key_makes_an_identical_pending_task_impossible(rig: Rig) -> None:
    check = NewTask(Kind.NOOP, 0, site(), dedupe=key16("term-12"))
    first = await rig.job([check, check])
    second = await rig.job([check, *pages(1)])
    await rig.check()
    assert ((await rig.get(first)).open, (await rig.get(second)).open) == (1, 1)
    (task,) = [t for t in await rig.claim_all() if t.kind == Kind.NOOP]
    third = await rig.job([check, *pages(1)])
    assert (await rig.get(third)).open == 1, "under lease it is pending still"
    await rig.settle(outcome(task, Verdict.RETRY, delay=1))
    await rig.job([check, *pages(1)])
    await rig.hurry()
    await rig.promote()
    (task,) = [t for t in await rig.claim_all() if t.kind == Kind.NOOP]
    await rig.settle(outcome(task, Verdict.SUCCEEDED))
    await rig.check()
    assert (await rig.get(await rig.job([check]))).open == 1, "done, it may come again"
    await rig.check()


async def test_a_page_left_out_for_its_dedupe_key_is_not_counted(rig: Rig) -> None:
    await rig.job([page(0, dedupe=key16("x"))])
    job = await rig.job([page(0, dedupe=key16("x")), page(1)])
    found = await rig.get(job)
    assert (found.total, found.open) == (1, 1)
    await rig.check()


async def test_one_of_many_that_add_the_same_dedupe_key_at_once_wins(rig: Rig) -> None:
    check = NewTask(Kind.NOOP, 0, site(), dedupe=key16("term-12"))
    jobs = await asyncio.gather(*(rig.job([check, page(n)]) for n in range(8)))
    assert sum([(await rig.get(job)).open for job in jobs]) == 9
    await rig.check()


# --- how many ---


async def test_a_job_takes_no_more_urls_than_its_budget(rig: Rig) -> None:
    job = await rig.job(pages(5), max_urls=3)
    found = await rig.get(job)
    assert (found.total, found.open, found.close_reason) == (3, 3, "max_urls")
    await rig.finish(await rig.claim())
    ended = await end(rig, job)
    assert (ended.state, ended.close_reason) == ("stopped", "max_urls")
    await rig.check()


async def test_children_are_cut_at_the_budget_and_the_plan_is_told(rig: Rig) -> None:
    job = await rig.job(pages(2), max_urls=6)
    one, two = await rig.claim()
    settled = await rig.settle(outcome(one, Verdict.CONTINUE, AddTasks(tuple(pages(3, first=2)))))
    assert settled.halted == {}
    settled = await rig.settle(outcome(one, Verdict.CONTINUE, AddTasks(tuple(pages(3, first=2)))))
    assert settled.halted == {}, "what was there already takes no room"
    settled = await rig.settle(outcome(two, Verdict.CONTINUE, AddTasks(tuple(pages(4, first=5)))))
    assert settled.halted == {job: "max_urls"}
    found = await rig.get(job)
    assert (found.total, found.close_reason) == (6, "max_urls")
    await rig.check()


async def test_the_budget_holds_when_one_batch_adds_several_times(rig: Rig) -> None:
    job = await rig.job(pages(3), max_urls=8)
    tasks = await rig.claim()
    await rig.settle(
        *(
            outcome(task, Verdict.SUCCEEDED, AddTasks(tuple(pages(4, first=10 * task.seq + 10))))
            for task in tasks
        )
    )
    found = await rig.get(job)
    assert (found.total, found.close_reason) == (8, "max_urls")
    await rig.check()


async def test_who_goes_on_is_told_that_his_job_does_not(rig: Rig) -> None:
    """Also when he brings nothing; and nobody is told of the jobs of others."""
    _, stopped, late, gone = [await rig.job(pages(1), time_limit_s=60 * (n == 2)) for n in range(4)]
    of = {task.job: task for task in await rig.claim()}
    going_on = [outcome(task, Verdict.CONTINUE) for task in of.values()]
    events = await rig.value("SELECT count(*) FROM events")
    assert (await rig.settle(*going_on)).halted == {}
    assert await rig.value("SELECT count(*) FROM events") == events, "asking is nothing that happens"
    await rig.cancel(stopped)
    await rig.execute("UPDATE jobs SET deadline_at = 5 WHERE id = $1", late)
    await rig.ends()
    await rig.execute("DELETE FROM jobs WHERE id = $1", gone)
    settled = await rig.settle(*going_on)
    assert settled.halted == {stopped: "cancel", late: "time_limit_s", gone: "delete"}
    assert (await rig.finish(of.values())).halted == {}


# --- plans ---


def sitemap(name: str, depth: int = 0) -> Source:
    return Source("sitemap", f"http://a.test/{name}", site(), depth)


def plan_of(task: Task) -> tuple[int, str, int]:
    given = msgspec.json.decode(task.payload)
    return given["number"], given["location"], given["first_seq"]


async def read(rig: Rig, task: Task, entries: int, *more: Effect, complete: bool = True) -> None:
    """The plan reads its source: so many new pages."""
    number, _, first = plan_of(task)
    await rig.settle(outcome(task, Verdict.CONTINUE, AddTasks(tuple(pages(entries, first=first)))))
    done = SourceRead(number, entries, first + entries, complete, 0 if complete else 2, "cut short")
    await rig.settle(outcome(task, Verdict.SUCCEEDED, *more, done))


async def next_plan(rig: Rig) -> Task:
    await rig.hurry()
    (plan,) = [task for task in await rig.claim(1) if task.kind == Kind.PLAN]
    return plan


async def test_sources_are_read_one_after_another_in_order(rig: Rig) -> None:
    job = await rig.job(sources=[sitemap("index"), sitemap("other")])
    assert (await rig.get(job)).planned == 0
    index = await next_plan(rig)
    assert plan_of(index) == (0, "http://a.test/index", 0)
    assert await rig.claim() == [], "the other has to wait"
    found = AddSources((sitemap("one", 1), sitemap("other"), sitemap("two", 1)))
    await read(rig, index, 3, found)
    await rig.check()
    starts = []
    for name in ("other", "one", "two"):
        plan = await next_plan(rig)
        assert plan_of(plan)[1].endswith(name)
        starts.append(plan_of(plan)[2])
        assert (await rig.get(job)).planned == 0
        await read(rig, plan, 2, complete=name != "one")
    assert starts == [3, 5, 7]
    planned = await rig.get(job)
    assert (planned.planned, planned.total, planned.warnings) == (1, 9, 2)
    states = await rig.rows("SELECT state FROM sources WHERE job = $1 ORDER BY number", job)
    assert states == [("read",), ("read",), ("cut",), ("read",)]
    assert [t.seq for t in await rig.claim()] == list(range(9))
    await rig.check()


async def test_a_plan_interrupted_goes_on_where_it_was(rig: Rig) -> None:
    """What was added before is there; reading again adds nothing twice."""
    job = await rig.job(sources=[sitemap("index")])
    plan = await next_plan(rig)
    await rig.settle(outcome(plan, Verdict.CONTINUE, AddTasks(tuple(pages(3)))))
    await rig.die()
    await rig.hurry()
    again = await rig.claim_alone()
    assert again is not None
    assert plan_of(again) == plan_of(plan)
    await read(rig, again, 5)
    assert (await rig.get(job)).total == 5
    await rig.drain()
    assert (await rig.get(job)).state == "succeeded"
    await rig.check()


async def test_sources_that_cannot_be_read_leave_each_others_places_alone(rig: Rig) -> None:
    """Two whose handler raised, and pages of the one between and the one after them."""
    job = await rig.job(sources=[sitemap(name) for name in ("one", "two", "three")])
    for number in range(2):
        plan = await next_plan(rig)
        first = plan_of(plan)[2]
        found = AddTasks(tuple(page(first + n, url=f"http://a.test/{number}/{n}") for n in range(2)))
        await rig.settle(outcome(plan, Verdict.CONTINUE, found))
        await rig.settle(outcome_of(ValueError(), plan, RetryPolicy(attempts=1), 0.5))
        await rig.check()
    await read(rig, await next_plan(rig), 2)
    assert (await rig.get(job)).total == 6
    await rig.drain()
    assert len(await rig.rows("SELECT seq FROM pages WHERE job = $1", job)) == 6
    assert (await rig.get(job)).succeeded == 6
    await rig.check()


async def test_plans_come_before_the_pages_of_their_job(rig: Rig) -> None:
    await rig.job(sources=[sitemap("index"), sitemap("other")])
    await read(rig, await next_plan(rig), 5)
    assert [t.kind for t in await rig.claim(2)] == [Kind.PLAN, Kind.PAGE]


@pytest.mark.parametrize("how", ["read", "resumed"])
async def test_every_source_of_a_job_waits_as_the_job_does(rig: Rig, how: str) -> None:
    """The second sitemap of a job of low rank goes before nobody."""
    low = await rig.job(sources=[sitemap("one"), sitemap("two")], priority=-10)
    if how == "read":
        await read(rig, await next_plan(rig), 0)
    else:
        await rig.settle(outcome(await next_plan(rig), Verdict.SUCCEEDED))  # not read to its end
        assert (await end(rig, low)).open == 0
        await rig.resume(low)
    usual = await rig.job(pages(3, site("b")))
    same_lane = await rig.job(pages(3, site()))
    await rig.hurry()
    await rig.execute("UPDATE queues SET turn = turn - $1 WHERE job = $2", 5 * SECOND, low)
    assert {task.job for task in await rig.claim(6)} == {usual, same_lane}
    assert [(task.job, task.kind) for task in await rig.claim(6)] == [(low, Kind.PLAN)]
    await rig.check()


async def test_a_plan_that_finds_nothing_is_a_failed_job(rig: Rig) -> None:
    job = await rig.job(sources=[sitemap("index")])
    await read(rig, await next_plan(rig), 0)
    assert (await end(rig, job)).state == "failed"


async def test_a_job_of_nothing_ends_at_once(rig: Rig) -> None:
    job = await rig.job()
    assert (await end(rig, job)).state == "failed"
    await rig.check()


# --- ends ---


@pytest.mark.parametrize(
    ("verdicts", "state"),
    [
        ("succeeded succeeded", "succeeded"),
        ("failed failed", "failed"),
        ("succeeded failed", "partial"),
        ("succeeded skipped", "succeeded"),
        ("skipped failed", "failed"),
        ("quarantined succeeded", "partial"),
    ],
)
async def test_a_job_ends_as_its_tasks_did(rig: Rig, verdicts: str, state: str) -> None:
    chosen = verdicts.split()
    job = await rig.job(pages(len(chosen)))
    tasks = await rig.claim()
    await rig.settle(*(outcome(t, verdict) for t, verdict in zip(tasks, chosen, strict=True)))
    await rig.check()
    running = await rig.get(job)
    assert (running.state, running.phase, running.finished_at) == ("running", "finish", None)
    ended = await end(rig, job)
    assert (ended.state, ended.phase) == (state, "done")
    assert ended.finished_at is not None
    assert ended.started_at is not None
    assert ended.created_at <= ended.started_at <= ended.finished_at
    await rig.check()


async def test_the_end_comes_once_however_many_see_it(rig: Rig) -> None:
    """Several settle the last tasks, cancel and look for ended jobs at the same time."""
    job = await rig.job(pages(12))
    tasks = await rig.claim()
    await asyncio.gather(*(rig.finish(tasks[n::4]) for n in range(4)), *(rig.ends() for _ in range(4)))
    assert await rig.value("SELECT count(*) FROM tasks") == 1
    ended = await end(rig, job)
    assert (ended.state, ended.succeeded) == ("succeeded", 12)
    for _ in range(3):
        assert await rig.ends() == 0
    assert await rig.value("SELECT count(*) FROM tasks") == 0
    assert await rig.value("SELECT count(*) FROM finished WHERE kind = 'finish'") == 1
    await rig.check()


async def test_events_are_numbered_without_gaps_and_end_with_the_end(rig: Rig) -> None:
    job = await rig.job(pages(4))
    tasks = await rig.claim()
    await asyncio.gather(*(rig.finish([task]) for task in tasks))
    ended = await end(rig, job)
    rows = await rig.rows("SELECT number, data FROM events WHERE job = $1 ORDER BY number", job)
    assert [number for number, _ in rows] == list(range(1, ended.event_number + 1))
    told = [msgspec.json.decode(data) for _, data in rows]
    assert sorted(seq for event in told for seq in event.get("pages", ())) == [0, 1, 2, 3]
    assert told[-1]["state"] == "succeeded"


async def test_what_a_task_says_is_in_its_jobs_events_whatever_becomes_of_it(rig: Rig) -> None:
    jobs = [await rig.job(pages(1)), await rig.job(pages(1))]
    one, two = sorted(await rig.claim_all(), key=lambda task: task.job)
    await rig.settle(
        outcome(one, Verdict.RETRY, JobLog("it waits")), outcome(two, Verdict.SUCCEEDED, JobLog("it came"))
    )
    said = []
    for job in sorted(jobs):
        rows = await rig.rows("SELECT data FROM events WHERE job = $1 ORDER BY number", job)
        said.append([line for (data,) in rows for line in msgspec.json.decode(data).get("log", ())])
    assert said == [["it waits"], ["it came"]]


@pytest.mark.parametrize(
    ("option", "spent"),
    [
        ({"traffic_budget_mb": 1.0}, {"bytes_in": 600_000}),
        ({"residential_limit_mb": 1.0}, {"residential_bytes": 600_000}),
    ],
)
async def test_a_budget_stops_the_job_when_what_runs_is_done(
    rig: Rig, option: dict[str, Any], spent: dict[str, int]
) -> None:
    job = await rig.job(pages(6), **option)
    tasks = await rig.claim(4)
    for task in tasks[:3]:
        await rig.settle(outcome(task, Verdict.SUCCEEDED, **spent))
        await rig.check()
    assert await rig.claim() == [], "no more is handed out"
    assert (await rig.get(job)).phase == "crawl", "one still runs"
    await rig.settle(outcome(tasks[3], Verdict.SUCCEEDED, **spent))
    ended = await end(rig, job)
    assert (ended.state, ended.close_reason, ended.open) == ("stopped", next(iter(option)), 2)
    await rig.check()


async def test_a_budget_reached_with_the_last_page_stops_nothing(rig: Rig) -> None:
    job = await rig.job(pages(1), traffic_budget_mb=1)
    (task,) = await rig.claim()
    await rig.settle(outcome(task, Verdict.SUCCEEDED, bytes_in=2_000_000))
    assert (await end(rig, job)).state == "succeeded"


async def test_time_runs_out_from_the_first_claim_on(rig: Rig) -> None:
    job = await rig.job(pages(3), time_limit_s=60)
    assert await rig.value("SELECT deadline_at FROM jobs") == 0
    tasks = await rig.claim(1)
    deadline = await rig.value("SELECT deadline_at FROM jobs")
    assert abs(deadline - await rig.now() - 60 * SECOND) < 10 * SECOND
    assert await rig.ends() == 0
    await rig.execute("UPDATE jobs SET deadline_at = 5")
    await rig.ends()
    assert await rig.claim() == []
    events = await rig.value("SELECT count(*) FROM events")
    for _ in range(3):
        await rig.ends()
    assert await rig.value("SELECT count(*) FROM events") == events, "told once, not at every look"
    await rig.finish(tasks)
    ended = await end(rig, job)
    assert (ended.state, ended.close_reason, ended.succeeded) == ("stopped", "time_limit_s", 1)
    await rig.check()


async def test_time_runs_out_while_nothing_runs(rig: Rig) -> None:
    job = await rig.job(pages(2), time_limit_s=60)
    await rig.queue.hand_back(rig.lease, [t.id for t in await rig.claim()])
    await rig.execute("UPDATE jobs SET deadline_at = 5")
    assert await rig.ends() == 1
    assert (await end(rig, job)).state == "stopped"


# --- cancel and resume ---


async def test_cancelling_hands_out_no_more_and_lets_finish_what_runs(rig: Rig) -> None:
    job = await rig.job(pages(5))
    other = await rig.job(pages(2), max_urls=7)
    running = await rig.claim(2)
    assert {t.job for t in running} == {job}
    cancelled = await rig.cancel(job)
    assert (cancelled.state, cancelled.phase) == ("cancelling", "crawl")
    await rig.check()
    await rig.activity()
    await rig.check()
    assert {t.job for t in await rig.claim_all()} == {other}
    await rig.finish(running)
    ended = await end(rig, job)
    assert (ended.state, ended.succeeded, ended.open) == ("cancelled", 2, 3)
    await rig.check()
    with pytest.raises(Conflict, match="is cancelled: only a queued or running job"):
        await rig.cancel(job)


async def test_cancelling_a_job_of_which_nothing_runs_ends_it(rig: Rig) -> None:
    job = await rig.job(pages(2))
    await rig.cancel(job)
    with pytest.raises(Conflict, match="is cancelling and about to end"):
        await rig.cancel(job)
    assert (await end(rig, job)).state == "cancelled"
    with pytest.raises(JobNotFound):
        await rig.cancel(job + 1)


async def test_a_job_that_writes_its_exports_cannot_be_cancelled_and_says_why(rig: Rig) -> None:
    job = await rig.job(pages(1))
    await rig.finish(await rig.claim())
    with pytest.raises(Conflict, match="is running and about to end"):
        await rig.cancel(job)
    assert (await end(rig, job)).state == "succeeded"


async def test_what_a_cancelled_job_put_back_waits_for_its_resumption(rig: Rig) -> None:
    job = await rig.job(pages(6))
    tasks = await rig.claim(5)
    await rig.cancel(job)
    await rig.activity()
    await rig.settle(outcome(tasks[0], Verdict.RETRY, delay=1), outcome(tasks[1], Verdict.REQUEUE))
    await rig.settle(outcome(tasks[2], Verdict.SUCCEEDED, AddTasks((page(7),))))
    await rig.check()
    await rig.queue.hand_back(rig.lease, [tasks[3].id])
    await rig.die()
    await rig.check()
    await rig.hurry()
    await rig.promote()
    await rig.activity()
    await rig.check()
    assert await rig.claim_alone() is None
    ended = await end(rig, job)
    assert (ended.state, ended.open) == ("cancelled", 6)
    assert not (await rig.queue.claim(rig.lease, 5)).suspects, "a stopped job's suspects call nobody"
    await rig.resume(job)
    await rig.check()
    worked = await rig.drain()
    assert sorted(t.seq for t in worked if t.job == job) == [0, 1, 3, 4, 5, 7]
    ended = await rig.get(job)
    assert (ended.state, ended.close_reason) == ("succeeded", "succeeded")
    await rig.check()


@pytest.mark.parametrize("stop", ["cancel", "traffic", "time"])
async def test_a_job_resumed_ends_with_the_same_results(rig: Rig, stop: str) -> None:
    """As if it had never been stopped, plan and pages."""
    limits: dict[str, Any] = {"traffic": {"traffic_budget_mb": 1}, "time": {"time_limit_s": 60}}.get(stop, {})
    job = await rig.job(sources=[sitemap("one"), sitemap("two")], **limits)
    await read(rig, await next_plan(rig), 3)
    await rig.hurry()
    tasks: Sequence[Task] = await rig.claim(3)
    if stop == "cancel":
        await rig.cancel(job)
    elif stop == "time":
        await rig.execute("UPDATE jobs SET deadline_at = 5")
    await rig.settle(
        *(msgspec.structs.replace(rig.done(t), bytes_in=900_000) for t in tasks if t.kind == Kind.PAGE)
    )
    await rig.queue.hand_back(rig.lease, [t.id for t in tasks if t.kind == Kind.PLAN])
    await rig.ends()
    ended = await end(rig, job)
    assert ended.state == ("cancelled" if stop == "cancel" else "stopped")
    assert ended.open > 0
    resumed = await rig.resume(job, FREE)
    assert (resumed.state, resumed.close_reason, resumed.finished_at) == ("running", None, None)
    await rig.check()
    for _ in range(20):
        await rig.hurry()
        for task in await rig.claim(1):
            if task.kind == Kind.PLAN:
                await read(rig, task, 2)
            else:
                await rig.finish([task])
    ended = await rig.get(job)
    assert (ended.state, ended.planned, ended.succeeded, ended.open) == ("succeeded", 1, 5, 0)
    rows = await rig.rows("SELECT seq, title FROM pages WHERE job = $1 ORDER BY seq", job)
    assert rows == [(n, f"page {n}") for n in range(5)]
    await rig.check()


async def test_a_job_ended_can_only_be_resumed_where_something_is_left(rig: Rig) -> None:
    job = await rig.job(pages(2))
    with pytest.raises(Conflict, match="only one that has ended"):
        await rig.resume(job)
    one, two = await rig.claim()
    await rig.settle(rig.done(one), rig.done(two, Verdict.FAILED))
    await end(rig, job)
    with pytest.raises(Conflict, match="nothing is left"):
        await rig.resume(job)


async def test_a_job_cut_at_its_urls_goes_on_when_it_may_take_more(rig: Rig) -> None:
    """The plan's source is read again; what it gave before is there already."""
    job = await rig.job(sources=[sitemap("one")], max_urls=2)
    plan = await next_plan(rig)
    settled = await rig.settle(outcome(plan, Verdict.CONTINUE, AddTasks(tuple(pages(3)))))
    assert settled.halted == {job: "max_urls"}
    await rig.settle(outcome(plan, Verdict.SUCCEEDED))  # the source is not read to its end
    await rig.finish(await rig.claim())
    ended = await end(rig, job)
    assert (ended.state, ended.close_reason, ended.planned) == ("stopped", "max_urls", 0)
    await rig.resume(job, msgspec.structs.replace(FREE, max_urls=10))
    plan = await next_plan(rig)
    assert plan_of(plan) == (0, "http://a.test/one", 0)
    await read(rig, plan, 5)
    assert [t.seq for t in await rig.claim()] == [2, 3, 4]
    await rig.check()


async def test_a_job_without_a_row_has_tasks_too(rig: Rig) -> None:
    """Fyke's own tasks; an EndJob for a job that is gone does no harm."""
    job = await rig.job()
    (last,) = await rig.claim()
    await rig.execute("DELETE FROM jobs WHERE id = $1", job)
    settled = await rig.settle(outcome(last, Verdict.SUCCEEDED, EndJob(job)))
    assert settled.accepted == [last.id]
