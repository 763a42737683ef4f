"""What is listed no more is REMOVED once, whatever happened to the crawls before."""

import msgspec
import pytest

from fyke.core.task import Kind
from fyke.jobs.finish import FinishHandler
from fyke.jobs.submit import JobRequest
from fyke.store.conn import Database
from fyke.store.delete_job import delete_job
from fyke.store.jobs import cancel_job
from fyke.store.purge import expire, purge
from tests.integration.jobs.driver import Bench, options
from tests.integration.jobs.site import Reply, Site, index_of, product, sitemap_of
from tests.integration.jobs.test_crawl import table


async def crawl_list(here: Bench, shop: Site, paths: list[str], name: str = "D") -> int:
    return (await here.crawl(JobRequest(urls=shop.urls(paths), name=name, options=options()))).id


async def removed(here: Bench, shop: Site, job: int) -> list[str]:
    """Paths that the job's diff calls REMOVED."""
    diff = table(await here.export(job, "diff.csv"))
    return [row["url"].removeprefix(shop.base) for row in diff if row["change_type"] == "REMOVED"]


async def delete(here: Bench, job: int) -> None:
    await here.database.write(lambda conn: delete_job(conn, job))
    await purge_all(here)


async def purge_all(here: Bench) -> None:
    while (await here.database.write(purge)).more:
        pass


async def test_a_sitemap_that_was_empty_for_once_hides_nothing(here: Bench, shop: Site) -> None:
    paths = shop.products(6)
    found = []
    for count in (6, 0, 3, 3):
        shop.pages["/s.xml"] = sitemap_of(shop.urls(paths[:count]))
        job = await here.crawl(JobRequest(sitemap=shop.url("/s.xml"), options=options()))
        found.append(await removed(here, shop, job.id))
    assert found == [[], [], paths[3:], []]


async def test_a_sitemap_that_was_away_for_once_hides_nothing(here: Bench, shop: Site) -> None:
    """The links that were followed instead are no list."""
    paths = shop.products(6)
    shop.pages["/"] = product("home", 1, f"<a href='{paths[0]}'>x</a>")
    found = []
    for count in (6, 0, 3, 3):
        shop.pages["/sitemap.xml"] = sitemap_of(shop.urls(paths[:count])) if count else Reply(b"", status=404)
        job = await here.crawl(JobRequest(site=shop.base, options=options()))
        found.append(await removed(here, shop, job.id))
    assert found == [[], [], paths[3:], []]


@pytest.mark.parametrize(
    ("limit", "reason"), [("MOST_SUB_SITEMAPS", "more than 1"), ("MOST_DEPTH", "nested")]
)
async def test_an_index_that_is_not_followed_to_its_end_hides_nothing(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    paths = shop.products(4)
    shop.pages["/s.xml"] = index_of(shop.urls(["/1.xml", "/2.xml"]))
    shop.pages["/1.xml"] = sitemap_of(shop.urls(paths[:2]))
    shop.pages["/2.xml"] = index_of(shop.urls(["/3.xml"]))
    shop.pages["/3.xml"] = sitemap_of(shop.urls(paths[2:]))
    asked = JobRequest(sitemap=shop.url("/s.xml"), options=options())
    assert (await here.crawl(asked)).total == 4
    monkeypatch.setattr(f"fyke.jobs.plan.{limit}", 1)
    job = await here.crawl(asked)
    assert reason in str(job.error_message)
    assert await removed(here, shop, job.id) == []
    assert await here.rows("SELECT state FROM sources WHERE job = $1 AND state = 'cut'", job.id)
    assert await here.rows("SELECT count(*) FROM snapshots") == [(4,)]


@pytest.mark.parametrize("how", ["deleted", "expired"])
async def test_what_a_job_listed_that_is_no_more_is_not_forgotten(here: Bench, shop: Site, how: str) -> None:
    paths = shop.products(8)
    first = await crawl_list(here, shop, paths)
    if how == "deleted":
        await delete(here, first)
    else:
        await here.database.write(
            lambda conn: conn.execute("UPDATE jobs SET created_at = 1, finished_at = 2")
        )
        assert await here.database.write(lambda conn: expire(conn, 1, 1)) == 1
        await purge_all(here)
    kept = await here.rows("SELECT data_full, data_seo, title, content_hash FROM pages WHERE job = $1", first)
    assert set(kept) == {(None, None, None, None)}, "addresses, and nothing that was read"
    second = await crawl_list(here, shop, paths[:4])
    assert await removed(here, shop, second) == paths[4:]
    await purge_all(here)
    assert await here.rows("SELECT id FROM jobs") == [(second,)]
    assert await here.rows("SELECT count(*) FROM pages WHERE job = $1", first) == [(0,)]
    third = await crawl_list(here, shop, paths[:4])
    assert await removed(here, shop, third) == []


class ReadOnly:
    """A database that nothing can be written to."""

    def __init__(self, database: Database) -> None:
        self.read = database.read


async def test_the_finish_task_writes_by_its_outcome_alone(here: Bench, shop: Site) -> None:
    paths = shop.products(4)
    first = await crawl_list(here, shop, paths)
    await delete(here, first)
    parts = msgspec.structs.replace(here.exports, database=ReadOnly(here.database))
    here.handlers[Kind.FINISH] = FinishHandler(parts)
    second = await crawl_list(here, shop, paths[:2])
    assert await removed(here, shop, second) == paths[2:]
    await purge_all(here)
    assert await here.rows("SELECT id FROM jobs") == [(second,)]


async def test_jobs_deleted_in_any_order_and_state_leave_what_is_needed(here: Bench, shop: Site) -> None:
    paths = shop.products(8)
    first = await crawl_list(here, shop, paths[:3])
    second = await crawl_list(here, shop, paths[:6])
    await delete(here, first)
    assert await here.rows("SELECT id FROM jobs") == [(second,)], "a later list makes it needless"
    third = await here.submit(JobRequest(urls=shop.urls(paths[5:]), name="D", options=options()))
    await here.run(third, until=lambda seen: seen.succeeded >= 2, batch=2)
    await here.database.write(lambda conn: cancel_job(conn, third))
    await here.run(third)
    await delete(here, third)
    await delete(here, second)
    assert await here.rows("SELECT sum(open), sum(succeeded) FROM jobs") == [(0, 0)], "nothing of it counts"
    fourth = await crawl_list(here, shop, paths[:2])
    assert sorted(await removed(here, shop, fourth)) == paths[2:7]
    await purge_all(here)
    assert await here.rows("SELECT id FROM jobs") == [(fourth,)]


async def test_a_list_whose_pages_all_fail_was_read_all_the_same(here: Bench, shop: Site) -> None:
    paths = shop.products(8)
    await crawl_list(here, shop, paths)
    for path in paths:
        shop.pages[path] = Reply(b"", status=403)
    second = await crawl_list(here, shop, paths[:4])
    assert (await here.job(second)).state == "failed"
    assert await removed(here, shop, second) == paths[4:]


async def test_prices_are_the_same_text_in_every_export(here: Bench, shop: Site) -> None:
    shop.pages["/p"] = product("Thing", "11.50")
    first = await crawl_list(here, shop, ["/p"])
    shop.pages["/p"] = product("Thing", "8.50")
    second = await crawl_list(here, shop, ["/p"])
    assert [row["price"] for row in table(await here.export(first, "full.csv"))] == ["11.50"]
    assert [row["price"] for row in table(await here.export(second, "full.csv"))] == ["8.50"]
    (change,) = table(await here.export(second, "diff.csv"))
    assert (change["price_prev"], change["price_curr"]) == ("11.50", "8.50")


async def test_what_was_never_read_is_not_kept(here: Bench, shop: Site) -> None:
    job = await crawl_list(here, shop, ["/nowhere", "/nothing"])
    await delete(here, job)
    for name in ("jobs", "pages", "sources", "seen"):
        assert await here.rows(f"SELECT count(*) FROM {name}") == [(0,)], name


async def test_a_kept_list_is_purged_a_few_rows_at_a_time(
    here: Bench, shop: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = shop.products(8)
    first = await crawl_list(here, shop, paths)
    monkeypatch.setattr("fyke.store.purge.CHUNK", 3)
    monkeypatch.setattr("fyke.jobs.finish.CHUNK", 3)
    await delete(here, first)
    kept = await here.rows("SELECT url FROM pages WHERE job = $1 ORDER BY seq", first)
    assert [url for (url,) in kept] == list(shop.urls(paths))
    second = await crawl_list(here, shop, paths[6:])
    assert await removed(here, shop, second) == paths[:6]
