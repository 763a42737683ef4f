"""Redirects take their turns: what a page leads to is asked at the rate of whoever is asked."""

import time
from pathlib import Path

import pytest

from fyke.jobs.submit import JobRequest
from fyke.politeness.policies import Policies
from tests.integration.jobs.driver import bench, options
from tests.integration.jobs.site import Reply, Site

INTERVAL = 0.1


def policies(here: str, there: str) -> Policies:
    """What holds for 127.0.0.1 and for localhost, which is the same machine under another name."""
    return Policies.with_file(
        f"policies: {{first: {{hosts: [127.0.0.1], {here}}}, second: {{hosts: [localhost], {there}}}}}"
    )


FREE = "delay: 0, concurrency: 0"
SLOW = f"delay: {INTERVAL}, concurrency: 1"


class Clock:
    """When the pages of a site were asked for."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def watch(self, reply: Reply) -> Reply:
        reply.after = lambda: self.times.append(time.monotonic())
        return reply

    def took(self) -> float:
        """From the first to the last. A single gap may be short: the driver, unlike a worker, does not hand
        back what begins late."""
        return self.times[-1] - self.times[0]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def to(target: str, **headers: str) -> Reply:
    return Reply(status=302, headers={"Location": target, **headers})


async def test_they_wait_in_the_lane_of_the_host_they_lead_to(
    tmp_path: Path, shop: Site, clock: Clock
) -> None:
    there = shop.base.replace("127.0.0.1", "localhost")
    paths = shop.products(8)
    for path in paths:
        clock.watch(shop.pages[path])  # type: ignore[arg-type]  # products have one reply each
    for number in range(4):
        shop.pages[f"/old/{number}"] = to(f"{there}/p/{number}")
    urls = [shop.url(f"/old/{number}") for number in range(4)] + [f"{there}{path}" for path in paths[4:]]
    async with bench(tmp_path, policies=policies(FREE, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=tuple(urls), options=options()))
        rows = await here.rows("SELECT url, final_url, bytes_in FROM pages ORDER BY seq")
        took = await here.rows("SELECT bytes FROM jobs")
    assert (job.state, job.total, job.succeeded) == ("succeeded", 8, 8)
    assert [row[1] for row in rows] == [f"{there}{path}" for path in paths]
    assert sum(int(str(row[2])) for row in rows) == took[0][0], "with what the redirects took"
    assert len(clock.times) == 8
    assert clock.took() > 5 * INTERVAL, "four of them alone take three"


async def test_a_page_that_fails_behind_one_tells_the_bytes_of_both(tmp_path: Path, shop: Site) -> None:
    there = shop.base.replace("127.0.0.1", "localhost")
    shop.pages["/old"] = to(f"{there}/gone")
    shop.pages["/gone"] = Reply(status=404, body=b"x" * 5000)
    async with bench(tmp_path, policies=policies(FREE, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/old"),), options=options()))
        rows = await here.rows("SELECT bytes_in FROM pages")
        alone = await here.crawl(JobRequest(urls=(f"{there}/gone",), options=options()))
    assert (job.state, rows[0][0]) == ("failed", job.bytes)
    assert job.bytes > alone.bytes > 5000


async def test_a_chain_on_one_host_keeps_its_rate(tmp_path: Path, shop: Site, clock: Clock) -> None:
    shop.products(1)
    for number in range(3):
        shop.pages[f"/hop/{number}"] = clock.watch(to(f"/hop/{number + 1}"))
    shop.pages["/hop/3"] = clock.watch(to("/p/0"))
    clock.watch(shop.pages["/p/0"])  # type: ignore[arg-type]  # products have one reply each
    async with bench(tmp_path, policies=policies(SLOW, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/hop/0"),), options=options()))
        rows = await here.rows("SELECT url, final_url, retry_count FROM pages")
    assert (job.succeeded, job.total) == (1, 1)
    assert rows == [(shop.url("/hop/0"), shop.url("/p/0"), 0)]
    assert len(clock.times) == 5
    assert clock.took() > 3 * INTERVAL


async def test_a_cookie_that_was_set_on_the_way_is_shown_again(tmp_path: Path, shop: Site) -> None:
    shop.products(1)
    page = shop.pages["/p/0"]
    assert isinstance(page, Reply)
    shop.pages["/p/0"] = [to("/p/0", **{"Set-Cookie": "seen=1; Path=/"}), page]
    async with bench(tmp_path, policies=policies(SLOW, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/p/0"),), options=options()))
    assert (job.succeeded, shop.hits["/p/0"]) == (1, 2)
    assert shop.cookies == ["", "seen=1"]


async def test_what_was_asked_is_not_asked_again_for_a_host_that_was_not_known(
    tmp_path: Path, shop: Site
) -> None:
    """robots.txt of the host that a redirect leads to is fetched in between."""
    shop.products(1)
    there = shop.url("/p/0").replace("127.0.0.1", "localhost")
    shop.pages["/old"] = to(there)
    async with bench(tmp_path, policies=policies(SLOW, FREE)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/old"),), options=options()))
        rows = await here.rows("SELECT url, final_url, bytes_in FROM pages")
        alone = await here.crawl(JobRequest(urls=(there,), options=options()))
    assert (job.succeeded, rows) == (1, [(shop.url("/old"), there, job.bytes)])
    assert job.bytes > alone.bytes
    assert shop.order == ["/robots.txt", "/old", "/robots.txt", "/p/0", "/p/0"]


async def test_a_target_is_read_alike_in_every_lane(tmp_path: Path, shop: Site) -> None:
    """UTF-8 in a header, as browsers read it."""
    shop.pages["/old"] = to("/stra\u00dfe".encode().decode("latin-1"))
    shop.pages["/stra%C3%9Fe"] = Reply(b"<title>here</title>")
    for lane in (FREE, SLOW):
        async with bench(tmp_path, policies=policies(lane, lane)) as here:
            assert (await here.crawl(JobRequest(urls=(shop.url("/old"),), options=options()))).succeeded == 1


async def test_what_only_names_another_place_is_no_redirect(tmp_path: Path, shop: Site) -> None:
    shop.products(1)
    shop.pages["/choice"] = Reply(status=300, headers={"Location": "/p/0"})
    for lane in (FREE, SLOW):
        async with bench(tmp_path, policies=policies(lane, lane)) as here:
            job = await here.crawl(JobRequest(urls=(shop.url("/choice"),), options=options()))
            assert job.failed == 1
    assert shop.hits["/p/0"] == 0


async def test_a_circle_is_found_over_several_turns(tmp_path: Path, shop: Site) -> None:
    shop.pages["/a"] = to("/b")
    shop.pages["/b"] = to("/a")
    async with bench(tmp_path, policies=policies(SLOW, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/a"),), options=options()))
        rows = await here.rows("SELECT error_class FROM pages")
    assert (job.state, rows) == ("failed", [("too_many_redirects",)])
    assert (shop.hits["/a"], shop.hits["/b"]) == (1, 1)


async def test_a_host_outside_its_hours_is_not_asked(tmp_path: Path, shop: Site) -> None:
    shop.products(1)
    shop.pages["/old"] = to(shop.url("/p/0").replace("127.0.0.1", "localhost"))
    hour = time.gmtime(time.time() + 3 * 3600).tm_hour
    closed = f'{FREE}, hours: ["{hour:02}:00-{hour:02}:01"]'
    async with bench(tmp_path, policies=policies(FREE, closed)) as here:
        identity = await here.submit(JobRequest(urls=(shop.url("/old"),), options=options()))

        async def waits() -> bool:
            return await here.rows("SELECT state FROM tasks") == [(1,)]

        lanes = "SELECT l.name FROM tasks t JOIN lanes l ON l.id = t.lane"
        for _ in range(4):
            await here.once()
        assert await waits()
        assert await here.rows(lanes) == [("localhost",)]
        assert (await here.job(identity)).state == "running"
    assert (shop.hits["/old"], shop.hits["/p/0"]) == (1, 0)


@pytest.mark.parametrize(
    ("target", "error_class"),
    [("http://me:secret@127.0.0.1/x", "refused"), ("http://[me/x", "invalid_url")],
)
async def test_where_nobody_may_go(tmp_path: Path, shop: Site, target: str, error_class: str) -> None:
    shop.pages["/old"] = to(target)
    async with bench(tmp_path, policies=policies(SLOW, SLOW)) as here:
        job = await here.crawl(JobRequest(urls=(shop.url("/old"),), options=options()))
        rows = await here.rows("SELECT state, error_class, error_message FROM pages")
    assert job.state == "failed"
    assert rows[0][:2] == ("failed", error_class)
    assert "secret" not in str(rows)
