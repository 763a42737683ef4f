"""Whole crawls, from a request to its exports, against a local site."""

import csv
import gzip
import io
from asyncio import to_thread
from functools import partial
from pathlib import Path
from time import sleep

import msgspec
import pytest
from structlog.testing import capture_logs

from fyke.core.errors import Invalid, Refused
from fyke.core.outcome import SaveExport
from fyke.core.task import Kind
from fyke.jobs import plan as plan_module
from fyke.jobs.export import export_job
from fyke.jobs.plan import PlanHandler, PlanParts
from fyke.jobs.sitemap import read_sitemap
from fyke.jobs.sitemap_fetch import SITEMAPS
from fyke.jobs.submit import JobRequest
from fyke.store.exports import Export, register_made
from fyke.store.resume_job import resume_job
from fyke.store.retry_job import retry_job
from tests.integration.jobs.driver import Bench, bench, free, options
from tests.integration.jobs.site import Reply, Site, index_of, product, sitemap_of


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


async def test_a_list_becomes_pages_and_exports_in_its_order(here: Bench, shop: Site) -> None:
    paths = shop.products(30)
    job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options(exports=["csv", "json"])))
    assert (job.state, job.total, job.succeeded, job.failed) == ("succeeded", 30, 30, 0)
    assert job.domain == "127.0.0.1"
    full = table(await here.export(job.id, "full.csv"))
    assert [row["url"] for row in full] == list(shop.urls(paths))
    assert [row["price"] for row in full] == [str(10 + n) for n in range(30)]
    assert {row["currency"] for row in full} == {"EUR"}
    seo = table(await here.export(job.id, "seo.csv"))
    assert [row["title"] for row in seo] == [f"Thing {n}" for n in range(30)]
    diff = table(await here.export(job.id, "diff.csv"))
    assert {row["change_type"] for row in diff} == {"ADDED"}
    registered = await here.rows("SELECT type, format, row_count FROM exports ORDER BY type, format")
    assert registered == [(t, f, 30) for t in ("diff", "full", "seo") for f in ("csv", "json")]


async def test_duplicates_are_one_task(here: Bench, shop: Site) -> None:
    shop.products(1)
    urls = (shop.url("/p/0"), shop.url("/p/0#top"), shop.url("/x/../p/0"))
    job = await here.crawl(JobRequest(urls=urls, options=options()))
    assert job.total == 1
    assert shop.hits["/p/0"] == 1


async def test_an_index_of_sitemaps_is_read_in_order(here: Bench, shop: Site) -> None:
    paths = shop.products(6)
    shop.pages["/sitemap.xml"] = index_of(shop.urls(["/1.xml", "/2.xml.gz"]))
    shop.pages["/1.xml"] = sitemap_of(shop.urls(paths[3:]))
    squeezed = gzip.compress(sitemap_of(shop.urls(paths[:4])).body)
    shop.pages["/2.xml.gz"] = Reply(squeezed, "application/octet-stream")
    job = await here.crawl(JobRequest(sitemap=shop.url("/sitemap.xml"), options=options()))
    assert (job.state, job.total, job.warnings, job.error_message) == ("succeeded", 6, 0, None)
    full = table(await here.export(job.id, "full.csv"))
    assert [row["url"] for row in full] == list(shop.urls([*paths[3:], *paths[:3]]))
    states = await here.rows("SELECT number, state, entries FROM sources ORDER BY number")
    assert states == [(0, "read", 2), (1, "read", 3), (2, "read", 4)]
    assert await here.objects.delete_prefix("plans/x/") == 0
    assert not await to_thread(lambda: list((here.directory / "objects/plans").rglob("*.*")))


async def test_a_site_finds_its_sitemaps_in_robots_txt(here: Bench, shop: Site) -> None:
    paths = shop.products(3)
    shop.pages["/robots.txt"] = Reply(
        f"User-agent: *\nDisallow: /p/1\nSitemap: {shop.url('/maps/a.xml')}\n".encode(), "text/plain"
    )
    shop.pages["/maps/a.xml"] = sitemap_of(shop.urls(paths))
    job = await here.crawl(JobRequest(site=shop.base, options=options()))
    assert (job.total, job.succeeded, job.skipped) == (3, 2, 1)
    assert shop.hits["/sitemap.xml"] == 0
    assert shop.hits["/p/1"] == 0
    rows = await here.rows("SELECT url, state, error_class FROM pages WHERE state <> 'succeeded'")
    assert rows == [(shop.url("/p/1"), "skipped", "robots")]


async def test_a_site_is_asked_for_sitemap_xml(here: Bench, shop: Site) -> None:
    paths = shop.products(2)
    shop.pages["/sitemap.xml"] = sitemap_of(shop.urls(paths))
    job = await here.crawl(JobRequest(site=shop.url("/some/page"), options=options()))
    assert (job.state, job.total) == ("succeeded", 2)


async def test_a_site_without_sitemap_is_followed_by_its_links(here: Bench, shop: Site) -> None:
    def linking(name: str, *targets: str) -> Reply:
        return product(name, 5, "".join(f"<a href='{target}'>x</a>" for target in targets))

    shop.pages["/"] = linking("home", "/a", "/b?x=1#f", "/pic.jpg", "http://elsewhere.example/", "/gone")
    shop.pages["/a"] = linking("a", "/", "/deep/er", "mailto:me@x")
    shop.pages["/b?x=1"] = linking("b", "/a")
    shop.pages["/deep/er"] = linking("deeper")
    job = await here.crawl(JobRequest(site=shop.base, options=options()))
    assert (job.total, job.succeeded, job.failed) == (5, 4, 1)
    full = table(await here.export(job.id, "full.csv"))
    assert full[0]["url"] == shop.url("/")
    assert full[-1]["url"] == shop.url("/deep/er")
    messages = await here.rows("SELECT state, message FROM sources")
    assert messages[0][0] == "read"
    assert "links are followed" in str(messages[0][1])


@pytest.mark.parametrize(
    ("sitemap", "state"),
    [
        (Reply(b"<!doctype html><title>Home</title>"), "succeeded"),  # of sites that answer everything
        (Reply(b"<!DOCTYPE a [<!ENTITY b 'c'>]><urlset/>", "application/xml"), "partial"),
        (Reply(b"<urlset><url><loc>http", "application/xml"), "partial"),
    ],
)
async def test_a_sitemap_that_cannot_be_read_is_told_of_where_links_are_followed_instead(
    here: Bench, shop: Site, sitemap: Reply, state: str
) -> None:
    shop.pages["/"] = product("home", 1)
    shop.pages["/sitemap.xml"] = sitemap
    job = await here.crawl(JobRequest(site=shop.base, options=options()))
    assert (job.state, job.succeeded, job.warnings) == (state, 1, int(state == "partial"))


async def test_a_page_that_is_a_tree_beyond_all_limits_is_not_parsed(here: Bench, shop: Site) -> None:
    shop.pages["/bomb"] = Reply(gzip.compress(b"<p><b>" * 200_000), headers={"Content-Encoding": "gzip"})
    job = await here.crawl(JobRequest(urls=(shop.url("/bomb"),), options=options()))
    rows = await here.rows("SELECT error_class, error_message FROM pages WHERE job = $1", job.id)
    assert rows == [("body_too_large", "the page has more than 250000 tags")]


async def test_links_are_followed_ten_deep_and_what_is_left_is_told_once(here: Bench, shop: Site) -> None:
    shop.pages["/"] = product("home", 1, "<a href='/0'>x</a><a href='/b0'>x</a>")
    for number in range(14):
        for name in ("", "b"):
            shop.pages[f"/{name}{number}"] = product("n", 1, f"<a href='/{name}{number + 1}'>x</a>")
    with capture_logs() as logs:
        job = await here.crawl(JobRequest(site=shop.base, options=options()))
    assert job.total == 1 + 2 * 10
    (told,) = [entry for entry in logs if entry["event"] == "links_not_followed"]
    assert (told["log_level"], told["domain"]) == ("warning", "127.0.0.1")


async def test_malformed_sitemaps_give_what_can_be_read(here: Bench, shop: Site) -> None:
    paths = shop.products(3)
    broken = f"<url><loc>{shop.url('/p/?a<b')}</loc></url><url><loc>/p/2</loc></url>"
    broken += "<url><loc>mailto:x@y</loc></url><url><loc>http://10.0.0.1/</loc></url>"
    broken += "<url><loc>not a URL</loc></url>"
    shop.pages["/s.xml"] = sitemap_of(shop.urls(paths[:2]), broken)
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.total, job.succeeded, job.warnings) == (3, 3, 5)
    assert job.state == "succeeded", job.error_message
    assert "malformed" in str(job.error_message)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(b"<html></html>"), "root element is <html>"),
        (Reply(b"", status=404), "status 404"),
        (Reply(b"", status=500), "status 500"),
        (Reply(b"<urlset></urlset>"), "no URL"),
        (Reply(b"<!DOCTYPE a [<!ENTITY b 'c'>]><urlset/>"), "entity"),
    ],
)
async def test_a_crawl_of_nothing_fails_and_says_why(
    here: Bench, shop: Site, reply: Reply, reason: str
) -> None:
    shop.pages["/s.xml"] = reply
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, job.total) == ("failed", 0)
    assert reason in str(job.error_message)


async def test_addresses_with_a_bare_ampersand_are_crawled(here: Bench, shop: Site) -> None:
    shop.pages["/p?a=1&b=2"] = product("Thing", 1)
    shop.pages["/s.xml"] = sitemap_of([shop.url("/p?a=1&b=2")])
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, job.total, job.succeeded, job.warnings) == ("succeeded", 1, 1, 1)


async def test_a_sitemap_that_fails_at_first_is_asked_again(here: Bench, shop: Site) -> None:
    whole = sitemap_of(shop.urls(shop.products(2)))
    shop.pages["/s.xml"] = [Reply(b"", status=503), whole]
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, job.total) == ("succeeded", 2)
    assert shop.hits["/s.xml"] == 2
    told = [str(row[0]) for row in await here.rows("SELECT data FROM events WHERE job = $1", job.id)]
    assert any("/s.xml: status 503; asked again at 20" in data for data in told)


async def test_a_part_that_cannot_be_had_leaves_a_job_partial_and_is_read_by_a_retry(
    here: Bench, shop: Site
) -> None:
    paths = shop.products(6)
    shop.pages["/s.xml"] = index_of(shop.urls(["/1.xml", "/2.xml?token=secret", "/3.xml"]))
    shop.pages["/1.xml"] = sitemap_of(shop.urls(paths[:2]))
    shop.pages["/2.xml?token=secret"] = Reply(b"", status=500)
    shop.pages["/3.xml"] = sitemap_of(shop.urls(paths[4:]))
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, job.total, job.succeeded, job.failed) == ("partial", 4, 4, 0)
    assert "status 500" in str(job.error_message)
    assert "secret" not in str(job.error_message)
    assert await retry_job(here.database, job.id, here.policies.lane_for, "http_5xx") == 0, "no page has"
    shop.pages["/2.xml?token=secret"] = sitemap_of(shop.urls(paths[2:4]))
    assert await retry_job(here.database, job.id, here.policies.lane_for) == 1
    job = await here.run(job.id)
    assert (job.state, job.total, job.succeeded, job.error_message) == ("succeeded", 6, 6, None)
    full = table(await here.export(job.id, "full.csv"))
    assert sorted(row["url"] for row in full) == list(shop.urls(paths))


async def test_the_only_sitemap_is_read_again_by_a_resume(here: Bench, shop: Site) -> None:
    shop.pages["/s.xml"] = Reply(b"", status=500)
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert (job.state, job.total) == ("failed", 0)
    shop.pages["/s.xml"] = sitemap_of(shop.urls(shop.products(2)))
    await resume_job(here.database, job.id, here.policies.lane_for)
    job = await here.run(job.id)
    assert (job.state, job.total, job.succeeded) == ("succeeded", 2, 2)


@pytest.mark.parametrize("zipped", [False, True])
async def test_of_a_sitemap_that_is_too_large_is_taken_what_fits(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch, zipped: bool
) -> None:
    """Larger than it may be on the wire, or when it is inflated."""
    whole = sitemap_of(shop.urls(shop.products(200)))
    if zipped:
        whole = Reply(gzip.compress(whole.body), "application/xml", headers={"Content-Encoding": "gzip"})
    limit = 4000
    small = msgspec.structs.replace(SITEMAPS, max_bytes=limit + 1, max_inflated=limit + 1)
    monkeypatch.setattr(plan_module, "SITEMAPS", small)
    monkeypatch.setattr(plan_module, "read_sitemap", partial(read_sitemap, limit=limit))
    here.handlers[Kind.PLAN] = PlanHandler(
        PlanParts(here.client, here.guard, here.robots, here.policies, here.objects)
    )
    shop.pages["/s.xml"] = whole
    job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
    assert job.state == "partial"
    assert 20 < job.succeeded == job.total < 200
    assert job.warnings
    assert "more than 4000 bytes" in str(job.error_message)


async def test_a_sitemap_of_50000_urls_is_planned_at_once(here: Bench, shop: Site) -> None:
    shop.pages["/s.xml"] = sitemap_of(shop.url(f"/p/{n}") for n in range(50_000))
    new = JobRequest(sitemap=shop.url("/s.xml"), options=options(max_urls=0, max_concurrency=1))
    job = await here.submit(new)
    seen = await here.run(job, until=lambda job: bool(job.planned), batch=1)
    assert seen.total == 50_000
    assert shop.hits["/s.xml"] == 1


async def test_long_lists_wait_as_an_object(here: Bench, shop: Site, tmp_path: Path) -> None:
    shop.products(1200)
    file = tmp_path / "list.txt"
    file.write_text("# mine\n\n" + "\n".join(shop.url(f"/p/{n}") for n in range(1200)) + "\n")
    job = await here.submit(JobRequest(file=file, options=options()))
    assert await here.rows("SELECT kind, state FROM sources") == [("list", "reading")]
    done = await here.run(job)
    assert (done.state, done.total) == ("succeeded", 1200)
    full = table(await here.export(job, "full.csv"))
    assert [row["url"] for row in full] == [shop.url(f"/p/{n}") for n in range(1200)]


async def test_a_bad_line_refuses_the_list_whole(here: Bench, shop: Site, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    lines = [shop.url(f"/p/{n}") for n in range(1000)]
    lines[700] = "htp:/nowhere"
    lines[800] = "http://user:secret@x.example/"
    file.write_text("\n".join(lines))
    with pytest.raises(Invalid, match=r"line 701.*and 1 more") as caught:
        await here.submit(JobRequest(file=file))
    assert [f["field"] for f in caught.value.details["fields"]] == ["file.701", "file.801"]
    assert "secret" not in str(caught.value.details)
    assert await here.rows("SELECT count(*) FROM jobs") == [(0,)]
    assert not (here.directory / "objects").exists()
    with pytest.raises(Refused, match="private"):
        await here.submit(JobRequest(urls=("http://192.168.1.1/",)))


async def test_exports_can_be_made_on_demand(here: Bench, shop: Site) -> None:
    job = await here.crawl(JobRequest(urls=shop.urls(shop.products(3)), options=options(exports=[])))
    assert await here.rows("SELECT count(*) FROM exports") == [(0,)]

    async def register(made: SaveExport) -> Export:
        return await here.database.write(lambda conn: register_made(conn, made))

    for _ in range(2):
        made = await export_job(here.exports, job.id, "full", "jsonl", register)
        assert made.row_count == 3
    assert await here.rows("SELECT type, format FROM exports") == [("full", "jsonl")]
    assert (await here.export(job.id, "full.jsonl")).count("\n") == 3


async def test_exports_that_cannot_be_made_are_told(tmp_path: Path, shop: Site) -> None:
    async def write(*_: object) -> None:
        raise RuntimeError("no ink")

    async with bench(tmp_path, write=write) as here:
        job = await here.crawl(JobRequest(urls=shop.urls(shop.products(1)), options=options()))
    assert job.state == "succeeded", job.error_message
    assert "no ink" in str(job.error_message)


async def pages_of(here: Bench, *columns: str) -> list[tuple[object, ...]]:
    return await here.rows(f"SELECT {', '.join(columns)} FROM pages ORDER BY seq")


@pytest.mark.parametrize("robots", ["obey", "ignore"])
async def test_a_redirect_to_a_url_with_a_password_is_refused(
    tmp_path: Path, shop: Site, robots: str
) -> None:
    shop.products(1)
    there = shop.url("/p/0").replace("//", "//bob:SEKRIT8@")
    shop.pages["/login"] = Reply(status=302, headers={"Location": there})
    shop.pages["/odd"] = Reply(status=302, headers={"Location": "http://[bob:SEKRIT8@x"})
    shop.pages["/ftp"] = Reply(status=302, headers={"Location": "ftp://bob:SEKRIT8@host/"})
    shop.pages["/no"] = Reply(status=302, headers={"Location": "http://[bob"})
    paths = ["/login", "/odd", "/ftp", "/no"]
    async with bench(tmp_path, policies=free(robots=robots)) as here:
        job = await here.crawl(JobRequest(urls=shop.urls(paths), options=options()))
        assert (job.failed, job.skipped) == (4, 0)
        rows = await pages_of(here, "state", "error_class")
        assert rows == [("failed", error_class) for error_class in ["refused"] * 2 + ["invalid_url"] * 2]
        for row in await pages_of(here, "final_url", "error_message"):
            assert "SEKRIT8" not in f"{row}"
        assert shop.hits["/p/0"] == 0


async def test_the_row_of_a_failure_tells_how_it_was_tried_and_how_long(here: Bench, shop: Site) -> None:
    shop.pages["/slow"] = Reply(kind="image/gif", body=b"GIF89a", after=lambda: sleep(0.02))
    job = await here.crawl(JobRequest(urls=shop.urls(["/slow"]), options=options()))
    assert job.failed == 1
    [(error_class, strategy, elapsed)] = await pages_of(here, "error_class", "strategy_used", "elapsed_ms")
    assert (error_class, strategy) == ("content_type", "http")
    assert isinstance(elapsed, int)
    assert elapsed >= 20
