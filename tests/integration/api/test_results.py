"""What a job found, as the API shows it: pages, failures, changes, time series."""

import hashlib
import re

import pytest

from fyke.store.metrics import NAMES
from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.test_lists import pages_of
from tests.integration.api.world import World, data_of
from tests.integration.jobs.site import Reply, product

PAGE = {
    "url", "state", "final_url", "http_status", "fetched_at", "title", "h1", "content_hash", "bytes_in",
    "data_full", "data_seo", "error_class", "error_message", "retry_count", "strategy_used", "proxy_used",
    "elapsed_ms", "body_url",
}  # fmt: skip
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")


async def test_a_page(fyke: World) -> None:
    fyke.shop.pages["/p"] = product("Thing", 12)
    fyke.shop.pages["/from"] = Reply(status=302, headers={"Location": "/p"})
    job = (await fyke.crawl(["/from", "/gone"]))["id"]
    page, gone = await fyke.results(job, "pages")
    assert set(page) == set(gone) == PAGE
    assert (page["url"], page["final_url"]) == (fyke.shop.url("/from"), fyke.shop.url("/p"))
    assert (page["state"], page["http_status"], page["title"], page["h1"]) == (
        "succeeded",
        200,
        "Thing",
        "Thing",
    )
    assert TIME.fullmatch(page["fetched_at"])
    assert re.fullmatch("[0-9a-f]{64}", page["content_hash"])
    assert page["content_hash"] != hashlib.sha256(b"").hexdigest()
    assert page["bytes_in"] > 0
    assert (page["data_full"]["price"], page["data_full"]["currency"]) == (12, "EUR")
    assert page["data_seo"] is not None
    assert (page["error_class"], page["error_message"], page["retry_count"]) == (None, None, 0)
    assert (page["strategy_used"], page["proxy_used"]) == ("http", None)
    assert (gone["state"], gone["http_status"], gone["error_class"]) == ("failed", 404, "not_found")
    assert gone["error_message"]
    assert gone["data_full"] is None


async def test_what_was_answered_instead_of_a_page_is_kept(fyke: World) -> None:
    """Whether or not the job exports warc; of the last attempt, and under no name that a browser trusts."""
    wall = b"<title>Just a moment...</title><script>alert(1)</script>"
    fyke.shop.pages["/robots.txt"] = Reply(b"User-agent: *\nDisallow: /no", "text/plain")
    fyke.shop.pages["/blocked"] = Reply(wall, status=403, headers={"cf-mitigated": "challenge"})
    fyke.shop.pages["/broken"] = [Reply(b"first", status=500), Reply(b"last", status=500)]
    fyke.shop.products(1)
    paths = ["/p/0", "/blocked", "/broken", "/gone", "/no"]
    job = (await fyke.crawl(paths))["id"]
    good, blocked, broken, gone, no = await fyke.results(job, "pages")
    assert (good["body_url"], no["body_url"]) == (None, None)
    answer = await fyke.client.get(blocked["body_url"])
    assert (answer.status_code, answer.content) == (200, wall)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert (await fyke.client.get(broken["body_url"])).content == b"last"
    assert b"Not found" in (await fyke.client.get(gone["body_url"])).content
    for url in (f"/api/v1/jobs/{job}/pages/0/body", f"/api/v1/jobs/{job}/pages/77/body"):
        problem_of(await fyke.client.get(url), 404)
    await fyke.client.delete(f"/api/v1/jobs/{job}")
    problem_of(await fyke.client.get(blocked["body_url"]), 404)


async def test_failures_are_in_a_warc(fyke: World) -> None:
    fyke.shop.products(1)
    job = (await fyke.crawl(["/p/0", "/gone"], options={"exports": ["warc"]}))["id"]
    (made,) = await fyke.results(job, "exports")
    assert made["row_count"] == 2


async def test_failures_by_class_and_host_the_most_frequent_first(fyke: World) -> None:
    for number in range(7):
        fyke.shop.pages[f"/bad/{number}"] = Reply(b"", status=500)
    fyke.shop.products(1)
    paths = [f"/bad/{number}" for number in range(7)]
    job = (await fyke.crawl(["/p/0", "/gone", *paths]))["id"]
    most, other = await fyke.results(job, "errors")
    assert (most["error_class"], most["host"], most["count"]) == ("http_5xx", "127.0.0.1", 7)
    assert [sample["url"] for sample in most["samples"]] == list(fyke.shop.urls(paths[:5]))
    assert {sample["http_status"] for sample in most["samples"]} == {500}
    assert (other["error_class"], other["count"], len(other["samples"])) == ("not_found", 1, 1)


async def test_groups_of_failures_are_paged(fyke: World) -> None:
    fyke.shop.pages["/bad"] = Reply(b"", status=500)
    fyke.shop.pages["/no"] = Reply(b"", status=400)
    job = (await fyke.crawl(["/bad", "/gone", "/gone2", "/no"]))["id"]
    path = f"/api/v1/jobs/{job}/errors"
    found = [group["error_class"] async for page in pages_of(fyke.client, path, 2) for group in page]
    assert found == ["not_found", "http_4xx", "http_5xx"]


async def test_a_diff_against_the_crawl_before(fyke: World) -> None:
    paths = fyke.shop.products(4)
    first = await fyke.crawl(paths, name="catalogue")
    assert {row["change_type"] for row in await fyke.results(first["id"], "diff")} == {"ADDED"}
    fyke.shop.pages[paths[1]] = product("Thing 1", 99)
    del fyke.shop.pages[paths[2]]
    fyke.shop.pages["/new"] = product("New", 5)
    second = await fyke.crawl([*paths[:3], "/new"], name="catalogue")
    rows = {row["url"]: row for row in await fyke.results(second["id"], "diff")}
    kinds = {url: row["change_type"] for url, row in rows.items()}
    names = ("UNCHANGED", "MODIFIED", "REMOVED", "REMOVED", "ADDED")
    assert kinds == dict(zip(fyke.shop.urls([*paths, "/new"]), names, strict=True))
    changed = rows[fyke.shop.url(paths[1])]
    assert (changed["price_prev"], changed["price_curr"]) == ("11", "99")
    assert "price" in changed["fields_changed"]
    assert changed["prev_crawl_at"] < changed["curr_crawl_at"]
    for kind in ("ADDED", "REMOVED", "MODIFIED", "UNCHANGED"):
        some = await fyke.results(second["id"], "diff", change_type=kind)
        assert [row["url"] for row in some] == [url for url, found in kinds.items() if found == kind]
    some = await fyke.results(second["id"], "diff", change_type="CHANGED")
    assert [row["url"] for row in some] == [url for url, found in kinds.items() if found != "UNCHANGED"]
    said = fields_of(await fyke.client.get(f"/api/v1/jobs/{second['id']}/diff?change_type=modified"))
    assert "did you mean 'MODIFIED'?" in said["change_type"]


async def test_time_series(fyke: World) -> None:
    job = await fyke.crawl(fyke.shop.products(3))
    points = await fyke.results(job["id"], "metrics")
    assert {point["name"] for point in points} == set(NAMES)
    last = {point["name"]: point["value"] for point in points if point["at"] == points[-1]["at"]}
    assert (last["succeeded"], last["failed"], last["open"], last["in_flight"]) == (3, 0, 0, 0)
    assert last["bytes"] == job["bytes"]
    assert points[-1]["at"] == job["finished_at"]
    assert points[-1]["labels"] == {"domain": "127.0.0.1", "target": "product"}


async def test_time_series_are_paged_by_moments(fyke: World) -> None:
    job = await fyke.crawl(fyke.shop.products(1))
    number = int(data_of(await fyke.client.get("/api/v1/jobs"))[0]["total"])
    assert number == 1
    rows = [
        (moment, name, float(moment))
        for moment in (1_000_000, 2_000_000, 3_000_000)
        for name in ("bytes", "open")
    ]

    async def add(conn):  # type: ignore[no-untyped-def]
        found = await conn.fetch("SELECT id FROM jobs")
        await conn.insert(
            "metrics",
            ("job", "at", "name", "value", "labels"),
            [(found[0][0], at, name, value, "{}") for at, name, value in rows],
        )

    await fyke.server.database.write(add)
    path = f"/api/v1/jobs/{job['id']}/metrics"
    answer = await fyke.client.get(path, params={"limit": 2})
    assert [(p["name"], p["value"]) for p in data_of(answer)] == [
        ("bytes", 1e6),
        ("open", 1e6),
        ("bytes", 2e6),
        ("open", 2e6),
    ]
    following = answer.json()["meta"]["paging"]["next"]
    rest = data_of(await fyke.client.get(path, params={"limit": 2, "cursor": following}))
    assert [p["value"] for p in rest[:2]] == [3e6, 3e6]
    assert len(rest) == 2 + len(NAMES)


@pytest.mark.parametrize("kind", ["pages", "diff", "metrics", "errors", "exports"])
async def test_a_job_without_results_has_empty_lists(fyke: World, kind: str) -> None:
    await fyke.server.engine.worker.stop()  # type: ignore[union-attr]  # it has one
    job = await fyke.submit(["/p"])
    assert await fyke.results(job, kind) == []
