"""A plan asks sites as politely as pages do: turns, hours, Retry-After, Crawl-delay, robots.txt."""

import errno
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from fyke.core.clock import SECOND
from fyke.core.errors import DiskFull
from fyke.core.outcome import AddSources, Outcome, Settled
from fyke.jobs.submit import JobRequest
from fyke.store.jobs import cancel_job
from fyke.store.queue import SqlQueue
from fyke.store.resume_job import resume_job
from tests.integration.jobs.driver import Bench, bench, free, options
from tests.integration.jobs.site import Reply, Site, index_of, sitemap_of
from tests.integration.jobs.test_redirects import FREE, INTERVAL, SLOW, Clock, policies, to

LANE = "SELECT l.name FROM tasks t JOIN lanes l ON l.id = t.lane WHERE t.kind = 'plan'"


def closed() -> str:
    """Hours that are not now."""
    hour = time.gmtime(time.time() + 3 * 3600).tm_hour
    return f'hours: ["{hour:02}:00-{hour:02}:01"]'


def there(shop: Site, path: str) -> str:
    return shop.url(path).replace("127.0.0.1", "localhost")


def robots(text: str) -> Reply:
    return Reply(f"User-agent: *\n{text}\n".encode(), "text/plain")


async def waiting(here: Bench, rounds: int = 4) -> list[tuple[object, ...]]:
    """The states of the tasks there are, when nothing moves any more."""
    for _ in range(rounds):
        await here.once()
    return await here.rows("SELECT kind, state FROM tasks")


async def test_each_request_takes_a_turn(tmp_path: Path, shop: Site) -> None:
    clock = Clock()
    shop.pages["/robots.txt"] = clock.watch(Reply(status=404))
    shop.pages["/sitemap.xml"] = clock.watch(index_of([shop.url("/1.xml")]))
    shop.pages["/1.xml"] = clock.watch(sitemap_of([shop.url("/a"), shop.url("/b")]))
    shop.pages["/a"] = clock.watch(Reply(b"<title>a</title>"))
    shop.pages["/b"] = clock.watch(Reply(b"<title>b</title>"))
    async with bench(tmp_path, policies=policies(SLOW, FREE)) as here:
        job = await here.crawl(JobRequest(site=shop.base, options=options()))
        turns = await here.rows("SELECT claims FROM finished WHERE kind = 'plan' ORDER BY seq")
    assert (job.state, job.succeeded) == ("succeeded", 2)
    assert turns == [(2,), (1,)]
    assert shop.order == ["/robots.txt", "/sitemap.xml", "/1.xml", "/a", "/b"]
    assert clock.took() > 3 * INTERVAL


async def test_a_robots_txt_that_names_sitemaps_takes_one_turn(tmp_path: Path, shop: Site) -> None:
    shop.pages["/robots.txt"] = robots(f"Sitemap: {there(shop, '/s.xml')}")
    async with bench(tmp_path, policies=policies(SLOW, closed())) as here:
        await here.submit(JobRequest(site=shop.base, options=options()))
        await here.once()
        assert await here.rows("SELECT state FROM sources ORDER BY number") == [("read",), ("reading",)]
        assert await here.rows(LANE) == [("localhost",)]


@pytest.mark.parametrize("kind", ["site", "sitemap"])
async def test_outside_its_hours_nothing_is_asked_of_a_host(tmp_path: Path, shop: Site, kind: str) -> None:
    asked = JobRequest(**{kind: shop.url("/")}, options=options())  # type: ignore[arg-type]  # by its name
    async with bench(tmp_path, policies=policies(f"{FREE}, {closed()}", FREE)) as here:
        job = await here.submit(asked)
        assert await waiting(here) == [("plan", 1)]
        assert (await here.job(job)).state == "running"
        assert await here.rows("SELECT attempt FROM tasks") == [(1,)]
    assert shop.order == []


@pytest.mark.parametrize("kind", ["site", "sitemap"])
async def test_what_a_site_asks_to_wait_is_waited(tmp_path: Path, shop: Site, kind: str) -> None:
    shop.pages["/sitemap.xml"] = Reply(status=429, headers={"Retry-After": "20"})
    url = shop.url("/sitemap.xml" if kind == "sitemap" else "/")
    asked = JobRequest(**{kind: url}, options=options())  # type: ignore[arg-type]  # by its name
    async with bench(tmp_path, policies=free(delay=0.001)) as here:
        await here.submit(asked)
        assert await waiting(here) == [("plan", 1)]
        now = await here.database.read(lambda conn: conn.now())
        due = await here.rows("SELECT due FROM delays")
        lanes = await here.rows("SELECT next_slot, spacing FROM lanes WHERE name = '127.0.0.1'")
    assert int(str(due[0][0])) > now + 19 * SECOND
    assert int(str(lanes[0][0])) > now + 19 * SECOND
    assert lanes[0][1] == 20_000, "the rate is halved"
    assert shop.hits["/sitemap.xml"] == 1


async def test_a_crawl_delay_holds_for_the_sitemap(here: Bench, shop: Site) -> None:
    clock = Clock()
    shop.pages["/robots.txt"] = clock.watch(robots("Crawl-delay: 0.1"))
    shop.pages["/s.xml"] = clock.watch(sitemap_of([shop.url("/a")]))
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert job.total == 1
    assert shop.order[:2] == ["/robots.txt", "/s.xml"]
    assert await here.rows("SELECT base_spacing FROM lanes WHERE name = '127.0.0.1'") == [(100_000,)]
    assert await here.rows("SELECT max(claims) FROM finished WHERE kind = 'plan'") == [(2,)]


async def test_a_sitemap_that_may_not_be_read_is_not(here: Bench, shop: Site) -> None:
    shop.pages["/robots.txt"] = robots("Disallow: /s.xml")
    shop.pages["/s.xml"] = sitemap_of([shop.url("/a")])
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, shop.hits["/s.xml"]) == ("failed", 0)
    assert "robots.txt disallows it" in str(job.error_message)


async def test_a_site_in_trouble_is_asked_for_nothing_but_robots_txt(tmp_path: Path, shop: Site) -> None:
    shop.pages["/robots.txt"] = Reply(status=503)
    async with bench(tmp_path, policies=policies(SLOW, FREE)) as here:
        await here.submit(JobRequest(site=shop.base, options=options()))
        assert await waiting(here) == [("plan", 1)]
        assert await here.rows("SELECT attempt FROM tasks") == [(2,)]
    assert shop.order == ["/robots.txt"]


async def test_a_robots_txt_that_is_not_obeyed_is_read_once(tmp_path: Path, shop: Site) -> None:
    """For the sitemaps that it may name; that it did not come is remembered for less than a turn takes."""
    shop.pages["/robots.txt"] = Reply(status=503)
    shop.pages["/sitemap.xml"] = sitemap_of([shop.url("/a")])
    async with bench(tmp_path, policies=policies(f"{SLOW}, robots: ignore", FREE)) as here:
        job = await here.submit(JobRequest(site=shop.base, options=options()))
        await here.once()
        here.robots._known.clear()
        seen = await here.run(job, until=lambda job: bool(job.planned))
        assert seen.total == 1
    assert shop.order == ["/robots.txt", "/sitemap.xml"]


async def test_many_sitemaps_in_robots_txt_are_added_some_at_a_time(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fyke.jobs.plan.CHUNK", 2)
    names = [f"/{number}.xml" for number in range(4)]
    shop.pages["/robots.txt"] = robots("\n".join(f"Sitemap: {shop.url(name)}" for name in names))
    for name in names:
        shop.pages[name] = sitemap_of([shop.url(f"/of{name}")])
    sizes: list[int] = []
    real = SqlQueue.settle

    async def settle(self: SqlQueue, lease: int, outcomes: Sequence[Outcome]) -> Settled:
        effects = [effect for outcome in outcomes for effect in outcome.effects]
        sizes.extend(len(effect.sources) for effect in effects if isinstance(effect, AddSources))
        return await real(self, lease, outcomes)

    monkeypatch.setattr(SqlQueue, "settle", settle)
    job = await here.crawl(JobRequest(site=shop.base, options=options()))
    assert (job.total, sizes) == (4, [2, 2])


async def test_a_disk_that_is_full_is_no_fault_of_the_sitemap(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker knows what to do then: see engine.worker."""

    async def into(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr("fyke.jobs.sitemap_fetch.SitemapFetch.into", into)
    await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    with pytest.raises(DiskFull):
        await here.once()


@pytest.mark.parametrize("kind", ["site", "sitemap"])
async def test_redirects_wait_in_the_lane_they_lead_to(tmp_path: Path, shop: Site, kind: str) -> None:
    clock = Clock()
    shop.pages["/sitemap.xml"] = to(there(shop, "/1.xml"))
    shop.pages["/1.xml"] = clock.watch(to("/2.xml"))
    shop.pages["/2.xml"] = clock.watch(sitemap_of([there(shop, "/a")]))
    shop.pages["/a"] = clock.watch(Reply(b"<title>a</title>"))
    url = shop.url("/sitemap.xml" if kind == "sitemap" else "/")
    asked = JobRequest(**{kind: url}, options=options())  # type: ignore[arg-type]  # by its name
    async with bench(tmp_path, policies=policies(FREE, SLOW)) as here:
        job = await here.crawl(asked)
        assert await here.rows("SELECT state, message FROM sources") == [("read", None)]
    assert (job.state, job.succeeded) == ("succeeded", 1)
    asked_for = ["/robots.txt", "/sitemap.xml", "/robots.txt", "/1.xml", "/2.xml", "/a"]
    assert shop.order == asked_for, "each once"
    assert clock.took() > INTERVAL


async def test_redirects_of_a_sitemap_that_go_in_a_circle_end(tmp_path: Path, shop: Site) -> None:
    shop.pages["/s.xml"] = to("/t.xml")
    shop.pages["/t.xml"] = to("/s.xml")
    async with bench(tmp_path, policies=policies(SLOW, SLOW)) as here:
        job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, shop.hits["/s.xml"], shop.hits["/t.xml"]) == ("failed", 1, 1)
    assert "too_many_redirects" in str(job.error_message)


async def test_a_plan_that_waits_elsewhere_is_found_by_a_resume(tmp_path: Path, shop: Site) -> None:
    shop.pages["/s.xml"] = to(there(shop, "/t.xml"))
    shop.pages["/t.xml"] = sitemap_of([shop.url("/a")])
    shop.pages["/a"] = Reply(b"<title>a</title>")
    async with bench(tmp_path, policies=policies(FREE, SLOW)) as here:
        job = await here.submit(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
        await here.once()
        assert await here.rows(LANE) == [("localhost",)]
        await here.database.write(lambda conn: cancel_job(conn, job))
        assert (await here.run(job)).state == "cancelled"
        await resume_job(here.database, job, here.policies.lane_for)
        assert await here.rows(LANE) == [("localhost",)], "it is the only one"
        assert (await here.run(job)).succeeded == 1
    assert shop.hits["/s.xml"] == 1
