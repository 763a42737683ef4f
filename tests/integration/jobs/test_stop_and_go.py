"""Jobs that stop, by a budget, an order or a death, and go on as if nothing had been."""

import asyncio
import gzip
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec
import pytest

from fyke.core.errors import Conflict, UnknownName
from fyke.core.handler import Context, Handler
from fyke.core.outcome import Effect, Outcome
from fyke.core.task import JobInfo, Kind, Task
from fyke.jobs.follow import MOST_DEPTH
from fyke.jobs.submit import JobRequest
from fyke.store import resume_job as resume_module
from fyke.store.jobs import Job, cancel_job
from fyke.store.queue import add as add_module
from fyke.store.resume_job import resume_job
from fyke.store.retry_job import retry_job
from tests.integration.jobs.driver import Bench, Killed, bench, free, options
from tests.integration.jobs.site import Reply, Site, index_of, product, sitemap_of
from tests.integration.jobs.test_crawl import table


async def resume(here: Bench, job: int, **fields: object) -> Job:
    wanted = options(**fields) if fields else None
    await resume_job(here.database, job, here.policies.lane_for, wanted)
    return await here.run(job)


async def rows_of(here: Bench, job: int) -> list[tuple[str, ...]]:
    """An export without its times."""
    full = table(await here.export(job, "full.csv"))
    return [tuple(value for name, value in row.items() if name != "fetched_at") for row in full]


def linked(shop: Site, pages: int) -> None:
    """Each page links to the next ten."""
    for number in range(-1, pages):
        links = "".join(f"<a href='/p/{n}'>{n}</a>" for n in range(number + 1, min(pages, number + 11)))
        shop.pages[f"/p/{number}" if number >= 0 else "/"] = product(f"{number}", number, links)


async def test_links_beyond_max_urls_are_not_forgotten(
    here: Bench, shop: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resume_module, "CHUNK", 4)
    linked(shop, 60)
    whole = JobRequest(site=shop.base, options=options())
    job = await here.crawl(msgspec.structs.replace(whole, options=options(max_urls=6)))
    assert (job.state, job.close_reason, job.total) == ("stopped", "max_urls", 6)
    with pytest.raises(Conflict, match="all 6 URLs"):
        await resume(here, job.id)
    job = await resume(here, job.id, max_urls=25)
    assert (job.state, job.close_reason, job.total) == ("stopped", "max_urls", 25)
    job = await resume(here, job.id, max_urls=0)
    assert (job.state, job.total, job.succeeded) == ("succeeded", 61, 61)
    assert [shop.hits[f"/p/{n}"] for n in range(60)] == [1] * 60
    (tmp_path / "other").mkdir()
    async with bench(tmp_path / "other") as other:
        undisturbed = await other.crawl(whole)
        assert await rows_of(here, job.id) == await rows_of(other, undisturbed.id)


async def test_a_crawl_whose_links_were_too_many_to_keep_never_succeeds(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(add_module, "MOST_LEFT", 3)
    linked(shop, 60)
    shop.pages["/p/0"] = Reply(status=404)
    job = await here.crawl(JobRequest(site=shop.base, options=options(max_urls=2)))
    assert (job.state, job.total) == ("stopped", 2)
    shop.pages["/p/0"] = product("again", 1, "<a href='/p/1'>1</a>")
    await retry_job(here.database, job.id, here.policies.lane_for)
    assert (await here.run(job.id)).close_reason == "max_urls", "a retry changes nothing in that"
    job = await resume(here, job.id, max_urls=0)
    while job.links_left and job.open == 0 and job.close_reason == "max_urls":
        try:
            job = await resume(here, job.id)
        except Conflict as error:
            assert "have not been kept" in error.message  # noqa: PT017 - how often it goes on depends
            break
    assert (job.state, job.close_reason) == ("stopped", "max_urls")


async def test_max_urls_stops_a_sitemap_and_a_resume_takes_the_rest(here: Bench, shop: Site) -> None:
    paths = shop.products(2500)
    shop.pages["/s.xml"] = index_of(shop.urls(["/1.xml", "/2.xml"]))
    shop.pages["/1.xml"] = sitemap_of(shop.urls(paths[:1800]))
    shop.pages["/2.xml"] = sitemap_of(shop.urls(paths[1700:]))
    whole = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options(max_urls=700)))
    assert (job.state, job.close_reason, job.total) == ("stopped", "max_urls", 700)
    # What the site lists by now does not matter: the plan was begun with what it had listed then.
    shop.pages["/1.xml"] = sitemap_of(shop.urls(reversed(paths)))
    job = await resume(here, job.id, max_urls=1750)
    assert (job.state, job.close_reason, job.total) == ("stopped", "max_urls", 1750)
    job = await resume(here, job.id, max_urls=2500)
    assert (job.state, job.total, job.succeeded) == ("succeeded", 2500, 2500)
    assert await rows_of(here, job.id) == await rows_of(here, whole.id)


async def test_a_list_as_long_as_the_budget_is_no_stop(here: Bench, shop: Site) -> None:
    paths = shop.products(5)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options(max_urls=5)))
    assert (job.state, job.total) == ("succeeded", 5)


async def test_a_list_longer_than_the_budget_is_kept_for_a_resume(here: Bench, shop: Site) -> None:
    paths = shop.products(5)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options(max_urls=3)))
    assert (job.state, job.close_reason, job.total) == ("stopped", "max_urls", 3)
    job = await resume(here, job.id, max_urls=0)
    assert (job.state, job.total) == ("succeeded", 5)


async def test_traffic_stops_a_job(here: Bench, shop: Site) -> None:
    paths = shop.products(40)
    for path in paths:
        shop.pages[path] = Reply(b"<title>x</title>" + b"x" * 50_000)
    wanted = options(traffic_budget_mb=0.5, max_concurrency=2)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=wanted))
    assert (job.state, job.close_reason) == ("stopped", "traffic_budget_mb")
    assert 500_000 <= job.bytes < 700_000
    job = await resume(here, job.id, traffic_budget_mb=0)
    assert (job.state, job.succeeded) == ("succeeded", 40)


async def test_time_stops_a_job(here: Bench, shop: Site) -> None:
    paths = shop.products(3)
    shop.pages["/p/0"] = Reply(b"", status=503, headers={"Retry-After": "3600"})
    wanted = options(time_limit_s=0.2)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=wanted))
    assert (job.state, job.close_reason, job.succeeded) == ("stopped", "time_limit_s", 2)


async def test_cancelled_and_resumed_ends_the_same(here: Bench, shop: Site) -> None:
    paths = shop.products(60)
    shop.pages["/s.xml"] = sitemap_of(shop.urls(paths))
    whole = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    await here.run(job, until=lambda seen: seen.succeeded >= 20, batch=10)
    await here.database.write(lambda conn: cancel_job(conn, job))
    stopped = await here.run(job)
    assert (stopped.state, stopped.close_reason) == ("cancelled", "cancelled")
    assert 20 <= stopped.succeeded < 60
    again = await resume(here, job)
    assert (again.state, again.succeeded) == ("succeeded", 60)
    assert await rows_of(here, job) == await rows_of(here, whole.id)
    assert shop.hits["/s.xml"] == 2


async def test_a_plan_that_waits_for_the_site_hears_of_a_cancel(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as a site takes for a sitemap, a cancelled job does not have to last."""
    monkeypatch.setattr("fyke.jobs.plan.ASKS", 0.01)
    paths = shop.products(5)
    asked = asyncio.Event()
    shop.pages["/s.xml"] = sitemap = sitemap_of(shop.urls(paths))
    sitemap.after = asked.set
    shop.door.clear()
    job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    running = asyncio.create_task(here.run(job))
    await asked.wait()
    await here.database.write(lambda conn: cancel_job(conn, job))
    stopped = await running
    assert (stopped.state, stopped.planned) == ("cancelled", 0)
    shop.door.set()
    again = await resume(here, job)
    assert (again.state, again.succeeded) == ("succeeded", 5)


async def test_a_plan_that_finds_nothing_to_add_hears_of_a_cancel(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fyke.jobs.plan.ASKS", 0.0)
    shop.pages["/s.xml"] = sitemap_of(["mailto:nobody"] * 5000)
    job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    here.handlers[Kind.PLAN] = Cancels(here, here.handlers[Kind.PLAN])
    stopped = await here.run(job)
    assert (stopped.state, stopped.planned, stopped.warnings) == ("cancelled", 0, 0)


class Cancels:
    """A handler whose job is cancelled when it first says what it has got."""

    def __init__(self, here: Bench, inner: Handler) -> None:
        self.here, self.inner = here, inner
        self.cancelled = False

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        return await self.inner(task, job, CancelledContext(self, task, context))


class CancelledContext:
    def __init__(self, handler: Cancels, task: Task, inner: Context) -> None:
        self.handler, self.task, self.inner = handler, task, inner

    async def emit(self, effects: Sequence[Effect]) -> str | None:
        if not self.handler.cancelled:
            self.handler.cancelled = True
            await self.handler.here.database.write(lambda conn: cancel_job(conn, self.task.job))
        return await self.inner.emit(effects)


class Dies:
    """A handler whose worker dies once, at the emission with a number."""

    def __init__(self, inner: Handler, at: int) -> None:
        self.inner, self.at = inner, at

    async def __call__(self, task: Task, job: JobInfo, context: Context) -> Outcome:
        return await self.inner(task, job, DyingContext(self, context))


class DyingContext:
    def __init__(self, handler: Dies, inner: Context) -> None:
        self.handler, self.inner = handler, inner

    async def emit(self, effects: Sequence[Effect]) -> str | None:
        halted = await self.inner.emit(effects)
        self.handler.at -= 1
        if self.handler.at == 0:
            raise Killed
        return halted


@pytest.mark.parametrize("at", [1, 2, 3])
async def test_a_plan_that_died_reads_on_from_the_same_bytes(here: Bench, shop: Site, at: int) -> None:
    paths = shop.products(2500)
    shop.pages["/s.xml"] = [sitemap_of(shop.urls(paths)), sitemap_of(shop.urls(reversed(paths)))]
    here.handlers[Kind.PLAN] = Dies(here.handlers[Kind.PLAN], at)
    job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    with pytest.raises(Killed):
        await here.run(job)
    done = await here.run(job)
    assert (done.state, done.total, done.succeeded) == ("succeeded", 2500, 2500)
    assert shop.hits["/s.xml"] == 1
    full = table(await here.export(job, "full.csv"))
    assert [row["url"] for row in full] == list(shop.urls(paths))


async def test_failures_run_again_at_their_places(here: Bench, shop: Site) -> None:
    paths = shop.products(6)
    shop.pages["/p/1"] = Reply(b"", status=500)
    shop.pages["/p/3"] = Reply(b"", status=403)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options()))
    assert (job.state, job.succeeded, job.failed) == ("partial", 4, 2)
    again = partial(retry_job, here.database, job.id, here.policies.lane_for)
    with pytest.raises(UnknownName, match="did you mean 'http_5xx'"):
        await again("http_5x")
    assert await again("timeout") == 0
    assert await again(host="elsewhere.example") == 0
    assert (await here.job(job.id)).state == "partial"
    shop.pages["/p/1"], shop.pages["/p/3"] = product("one", 1), product("three", 3)
    assert await again("http_5xx") == 1
    assert await here.rows("SELECT seq, state FROM pages WHERE state = 'queued'") == [(1, "queued")]
    done = await here.run(job.id)
    assert (done.state, done.total, done.succeeded, done.failed) == ("partial", 6, 5, 1)
    assert await again(host="127.0.0.1") == 1
    done = await here.run(job.id)
    assert (done.state, done.total, done.succeeded, done.failed, done.open) == ("succeeded", 6, 6, 0, 0)
    full = table(await here.export(job.id, "full.csv"))
    assert [row["h1"] for row in full] == ["Thing 0", "one", "Thing 2", "three", "Thing 4", "Thing 5"]
    assert await again() == 0


async def test_a_page_that_runs_again_lies_as_deep_as_it_did(here: Bench, shop: Site) -> None:
    """Its links are followed, but no further than before."""
    for number in range(MOST_DEPTH + 3):
        linking = Reply(f'<title>{number}</title><a href="/{number + 1}">on</a>'.encode())
        late = number in (MOST_DEPTH - 1, MOST_DEPTH)
        shop.pages[f"/{number}"] = [Reply(b"", status=403), linking] if late else linking
    job = await here.crawl(JobRequest(site=shop.url("/0"), options=options()))
    assert (job.total, job.failed) == (MOST_DEPTH, 1)
    for total in (MOST_DEPTH + 1, MOST_DEPTH + 1):
        assert await retry_job(here.database, job.id, here.policies.lane_for) == 1
        done = await here.run(job.id)
        assert done.total == total
    assert (done.state, done.failed) == ("succeeded", 0)


async def test_a_retry_of_a_stopped_job_goes_on_with_it(here: Bench, shop: Site) -> None:
    paths = shop.products(1200)
    shop.pages["/p/0"] = [Reply(b"", status=403), product("zero", 0)]
    shop.pages["/s.xml"] = sitemap_of(shop.urls(paths))
    job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    await here.run(job, until=lambda seen: seen.failed == 1)
    await here.database.write(lambda conn: cancel_job(conn, job))
    assert (await here.run(job)).state == "cancelled"
    assert await retry_job(here.database, job, here.policies.lane_for) == 1
    done = await here.run(job)
    assert (done.state, done.total, done.succeeded) == ("succeeded", 1200, 1200)


async def test_many_failures_run_again(here: Bench, shop: Site) -> None:
    paths = [f"/q/{number}" for number in range(1300)]  # none of them is there
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options()))
    assert (job.state, job.failed) == ("failed", 1300)
    for path in paths:
        shop.pages[path] = product(path, 1)
    assert await retry_job(here.database, job.id, here.policies.lane_for) == 1300
    done = await here.run(job.id)
    assert (done.state, done.succeeded, done.failed, done.total) == ("succeeded", 1300, 0, 1300)


async def test_a_job_about_to_end_cannot_be_retried(here: Bench, shop: Site) -> None:
    job = await here.submit(JobRequest(urls=shop.urls(["/nowhere"]), options=options()))
    await here.run(job, until=lambda seen: seen.phase == "finish")
    with pytest.raises(Conflict, match="about to end"):
        await retry_job(here.database, job, here.policies.lane_for)


async def test_a_long_source_goes_on_in_turns(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fyke.jobs.plan.TURN", 0.0)
    paths = shop.products(1500)
    lines = "\n".join(shop.urls(paths)).encode()
    shop.pages["/s.txt"] = Reply(gzip.compress(lines), "text/plain")
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.txt"), options=options()))
    assert (job.state, job.total) == ("succeeded", 1500)
    claims = await here.rows("SELECT max(claims) FROM finished WHERE kind = 'plan'")
    assert int(str(claims[0][0])) > 1
    full = table(await here.export(job.id, "full.csv"))
    assert [row["url"] for row in full] == list(shop.urls(paths))


async def test_blocked_pages_are_tried_again_and_never_kept(here: Bench, shop: Site) -> None:
    wall = Reply(b"<title>Just a moment...</title>", status=403, headers={"cf-mitigated": "challenge"})
    shop.pages["/wall"] = wall
    shop.pages["/once"] = [wall, product("through", 3)]
    job = await here.crawl(JobRequest(urls=shop.urls(["/wall", "/once"]), options=options()))
    assert (job.state, job.succeeded, job.failed) == ("partial", 1, 1)
    rows = await here.rows("SELECT url, error_class, title, data_full, retry_count FROM pages ORDER BY seq")
    assert rows[0] == (shop.url("/wall"), "blocked", None, None, 2)
    assert rows[1][4] == 1
    assert shop.hits["/wall"] == 3
    assert await here.rows("SELECT url FROM snapshots") == [(shop.url("/once"),)]


async def test_a_rate_limit_slows_the_lane(tmp_path: Path, shop: Site) -> None:
    shop.products(2)
    shop.pages["/p/0"] = [Reply(b"", status=429, headers={"Retry-After": "1"}), product("zero", 0)]
    async with bench(tmp_path, policies=free(delay=0.001)) as here:
        job = await here.crawl(JobRequest(urls=shop.urls(["/p/0", "/p/1"]), options=options()))
        assert (job.state, job.succeeded) == ("succeeded", 2)
        lanes = await here.rows("SELECT spacing, base_spacing FROM lanes WHERE name = '127.0.0.1'")
    assert lanes == [(20_000, 1000)]


async def test_crawl_delay_becomes_the_lanes_interval(tmp_path: Path, shop: Site) -> None:
    shop.products(3)
    shop.pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.05\n", "text/plain")
    async with bench(tmp_path, policies=free(delay=0.001, concurrency=1)) as here:
        job = await here.crawl(JobRequest(urls=shop.urls(["/p/0", "/p/1", "/p/2"]), options=options()))
        assert job.state == "succeeded"
        assert await here.rows("SELECT base_spacing FROM lanes WHERE name = '127.0.0.1'") == [(50_000,)]
        assert await here.rows("SELECT count(*) FROM robots") == [(1,)]
    assert shop.order[0] == "/robots.txt"
    assert shop.hits["/robots.txt"] == 1


async def test_pages_wait_until_their_lane_keeps_the_crawl_delay(here: Bench, shop: Site) -> None:
    """They were handed out at once, when nothing was known of it."""
    paths = shop.products(3)
    shop.pages["/robots.txt"] = Reply(b"User-agent: *\nCrawl-delay: 0.05\n", "text/plain")
    times: list[float] = []
    for path in paths:
        shop.pages[path] = Reply(b"<title>x</title>", after=lambda: times.append(monotonic()))
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options()))
    assert (job.state, len(times)) == ("succeeded", 3)
    assert times[-1] - times[0] > 0.06, "a slot and a bit: the driver hands back nothing that begins late"


async def test_options_are_those_of_the_job(here: Bench, shop: Site) -> None:
    paths = shop.products(1)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options(target="page")))
    assert msgspec.json.decode(job.options)["target"] == "page"
    assert await here.rows("SELECT data_full FROM pages") == [("{}",)]
