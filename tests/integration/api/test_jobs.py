"""Jobs from the request to their end: what they are told, and what they say of themselves."""

import asyncio
from typing import Any

import httpx
import pytest

from fyke.core.errors import DiskFull
from fyke.store.conn import Conn
from fyke.store.jobs import NewJob
from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.world import World, data_of
from tests.integration.api_parts import Parts
from tests.integration.jobs.site import Reply, product, sitemap_of

COUNTERS = ("total", "succeeded", "failed", "skipped")


def counted(job: dict[str, Any]) -> tuple[int, ...]:
    return tuple(job[name] for name in COUNTERS)


async def held(fyke: World, count: int = 6, **options: Any) -> str:
    """A job of which two tasks run and the others wait, until the site's door opens."""
    begun = asyncio.Semaphore(0)
    paths = fyke.shop.products(count)
    for path in paths:
        fyke.shop.pages[path] = product("Thing", 1)
        fyke.shop.pages[path].after = begun.release  # type: ignore[union-attr]  # a single reply
    fyke.shop.door.clear()
    job = await fyke.submit(paths, options={"max_concurrency": 2, **options})
    for _ in range(2):
        await asyncio.wait_for(begun.acquire(), 15)
    return job


def placed(job: dict[str, Any]) -> tuple[int, ...]:
    """Where its pages are: queued, running, cancelled, done."""
    done = job["succeeded"] + job["failed"] + job["skipped"]
    found = (job["queued"], job["running"], job["cancelled"], done)
    assert sum(found) == job["total"]
    return found


# --- made ---


async def test_a_job_says_what_it_is(fyke: World) -> None:
    paths = fyke.shop.products(3)
    answer = await fyke.client.post(
        "/api/v1/jobs",
        json={"urls": list(fyke.shop.urls(paths)), "domain": "mine", "options": {"exports": []}},
    )
    made = data_of(answer, 201)
    assert answer.headers["location"] == f"/api/v1/jobs/{made['id']}"
    assert (made["state"], made["domain"], made["source_kind"]) == ("queued", "mine", "list")
    assert (made["left_out"], made["left_out_lines"]) == (0, [])
    options = made["options"]
    assert (options["max_urls"], options["max_concurrency"], options["target"]) == (10_000, 2, "product")
    assert (options["traffic_budget_mb"], options["residential_limit_mb"]) == (100, 50)
    job = await fyke.ended(made["id"])
    assert (job["state"], job["close_reason"], counted(job)) == ("succeeded", "succeeded", (3, 3, 0, 0))
    assert job["created_at"] <= job["started_at"] <= job["finished_at"]
    assert job["error_message"] is None
    assert job["bytes"] > 0
    assert job["megabytes"] == round(job["bytes"] / 1e6, 3)
    assert (job["residential_bytes"], job["residential_megabytes"]) == (0, 0)
    assert job["progress"]["done"] == job["progress"]["total"] == 3
    assert (job["progress"]["fraction"], job["progress"]["seconds_left"]) == (1.0, None)


async def test_a_sitemap_and_a_site(fyke: World) -> None:
    paths = fyke.shop.products(4)
    fyke.shop.pages["/s.xml"] = sitemap_of(fyke.shop.urls(paths))
    fyke.shop.pages["/robots.txt"] = Reply(f"Sitemap: {fyke.shop.url('/s.xml')}\n".encode(), "text/plain")
    for source in ({"sitemap_url": fyke.shop.url("/s.xml")}, {"site_url": fyke.shop.url("/")}):
        made = data_of(
            await fyke.client.post("/api/v1/jobs", json={**source, "options": {"exports": []}}), 201
        )
        job = await fyke.ended(made["id"])
        assert (job["state"], counted(job)) == ("succeeded", (4, 4, 0, 0))


async def test_the_end_depends_on_the_tasks(fyke: World) -> None:
    good, bad = fyke.shop.products(2), ["/gone", "/lost"]
    some = await fyke.crawl(good + bad)
    assert (some["state"], counted(some)) == ("partial", (4, 2, 2, 0))
    none = await fyke.crawl(bad)
    assert (none["state"], counted(none)) == ("failed", (2, 0, 2, 0))


async def test_duplicates_are_one_task(fyke: World) -> None:
    fyke.shop.products(1)
    job = await fyke.crawl(["/p/0", "/p/0#top", "/x/../p/0"])
    assert counted(job) == (1, 1, 0, 0)
    assert fyke.shop.hits["/p/0"] == 1


async def test_more_urls_than_a_request_may_carry(fyke: World) -> None:
    most = fyke.server.behind.settings.max_urls_per_request
    urls = [fyke.shop.url("/p/0")] * (most + 1)
    answer = await fyke.client.post("/api/v1/jobs", json={"urls": urls})
    assert f"at most {most} URLs" in fields_of(answer)["urls"]


# --- cancelled ---


async def test_cancel_lets_what_runs_finish(fyke: World) -> None:
    job = await held(fyke)
    assert placed(await fyke.job(job)) == (4, 2, 0, 0)
    told = data_of(await fyke.post(job, "cancel"), 202)
    assert told["state"] == "cancelling"
    assert placed(told) == (0, 2, 4, 0)
    assert problem_of(await fyke.post(job, "cancel"), 409)["code"] == "conflict"
    fyke.shop.door.set()
    ended = await fyke.ended(job)
    assert (ended["state"], counted(ended)) == ("cancelled", (6, 2, 0, 0))
    assert placed(ended) == (0, 0, 4, 2)
    assert len(await fyke.results(job, "pages")) == 2
    problem_of(await fyke.post(job, "cancel"), 409)


async def test_a_job_that_waits_is_cancelled_before_it_began(fyke: World) -> None:
    await fyke.server.engine.worker.stop()  # type: ignore[union-attr]  # it has one
    later = await fyke.submit(["/other"])
    assert (await fyke.job(later))["state"] == "queued"
    assert data_of(await fyke.post(later, "cancel"), 202)["state"] == "cancelling"
    await fyke.server.engine.worker.start()  # type: ignore[union-attr]
    ended = await fyke.ended(later)
    assert (ended["state"], counted(ended), ended["started_at"]) == ("cancelled", (1, 0, 0, 0), None)
    assert fyke.shop.hits["/other"] == 0


async def test_a_cancelled_job_goes_on_and_ends_as_if_it_had_never_stopped(fyke: World) -> None:
    job = await held(fyke, 12)
    await fyke.post(job, "cancel")
    fyke.shop.door.set()
    await fyke.ended(job)
    assert data_of(await fyke.post(job, "resume"), 202)["state"] == "running"
    ended = await fyke.ended(job)
    assert (ended["state"], counted(ended)) == ("succeeded", (12, 12, 0, 0))
    assert [page["url"] for page in await fyke.results(job, "pages")] == list(
        fyke.shop.urls([f"/p/{number}" for number in range(12)])
    )
    assert all(hits == 1 for path, hits in fyke.shop.hits.items() if path.startswith("/p/"))
    problem_of(await fyke.post(job, "resume"), 409)


async def test_a_budget_stops_a_job_and_a_larger_one_lets_it_go_on(fyke: World) -> None:
    paths = fyke.shop.products(5)
    job = await fyke.crawl(paths, options={"max_urls": 3})
    assert (job["state"], job["close_reason"], job["total"]) == ("stopped", "max_urls", 3)
    answer = await fyke.post(job["id"], "resume", options={"max_urls": 4})
    assert data_of(answer, 202)["options"]["max_urls"] == 4
    job = await fyke.ended(job["id"])
    assert (job["state"], job["close_reason"], job["total"]) == ("stopped", "max_urls", 4)
    said = fields_of(await fyke.post(job["id"], "resume", options={"max_urls": 2}))
    assert "4 URLs are planned already" in said["options.max_urls"]
    assert (await fyke.ended(job["id"]))["options"]["max_urls"] == 4
    said = fields_of(await fyke.post(job["id"], "resume", options={"max_url": 9}))
    assert "did you mean 'max_urls'?" in said["options.max_url"]


# --- tried again ---


@pytest.fixture
async def partial(fyke: World) -> dict[str, Any]:
    """A job with two pages that are there and three that are not, for two reasons, at two hosts."""
    fyke.shop.products(2)
    for path in ("/bad/1", "/bad/2"):
        fyke.shop.pages[path] = Reply(b"no", status=500)
    urls = [*fyke.shop.urls(["/p/0", "/bad/1", "/p/1", "/bad/2"]), fyke.shop.url("/gone")]
    urls.append(fyke.shop.url("/far").replace("127.0.0.1", "127.0.0.2"))
    body = {"urls": urls, "options": {"exports": [], "max_concurrency": 0}}
    made = data_of(await fyke.client.post("/api/v1/jobs", json=body), 201)
    job = await fyke.ended(made["id"])
    assert counted(job) == (6, 2, 4, 0)
    return job


async def test_retry_all(fyke: World, partial: dict[str, Any]) -> None:
    for path in ("/bad/1", "/bad/2", "/gone"):
        fyke.shop.pages[path] = product("Mended", 1)
    answer = data_of(await fyke.post(partial["id"], "retry"), 202)
    assert answer["retried"] == 4
    assert answer["job"]["state"] == "running"
    job = await fyke.ended(partial["id"])
    assert (job["state"], counted(job)) == ("partial", (6, 5, 1, 0))
    assert fyke.shop.hits["/p/0"] == 1


@pytest.mark.parametrize(
    ("which", "retried"),
    [
        ({"error_class": "not_found"}, 1),
        ({"error_class": "http_5xx"}, 2),
        ({"host": "127.0.0.2"}, 1),
        ({"error_class": "http_5xx", "host": "127.0.0.1"}, 2),
    ],
)
async def test_retry_some(fyke: World, partial: dict[str, Any], which: dict[str, str], retried: int) -> None:
    before = dict(fyke.shop.hits)
    assert data_of(await fyke.post(partial["id"], "retry", **which), 202)["retried"] == retried
    job = await fyke.ended(partial["id"])
    assert counted(job) == (6, 2, 4, 0)
    again = {path for path, hits in fyke.shop.hits.items() if hits > before.get(path, 0)}
    assert again <= {"/bad/1", "/bad/2", "/gone"}
    assert len(again) == (0 if which.get("host") == "127.0.0.2" else retried)


async def test_retry_of_nothing_and_of_an_unknown_class(fyke: World, partial: dict[str, Any]) -> None:
    problem_of(await fyke.post(partial["id"], "retry", error_class="dns"), 409)
    problem_of(await fyke.post(partial["id"], "retry", host="elsewhere.test"), 409)
    said = fields_of(await fyke.post(partial["id"], "retry", error_class="http_5x"))
    assert "did you mean 'http_5xx'?" in said["error_class"]
    assert (await fyke.job(partial["id"]))["state"] == "partial"


# --- deleted ---


async def gone(fyke: World, job: str) -> None:
    assert data_of(await fyke.client.delete(f"/api/v1/jobs/{job}")) == {"id": job, "deleted": True}
    for path in ("", "/pages", "/errors", "/diff", "/metrics", "/exports", "/stream"):
        problem_of(await fyke.client.get(f"/api/v1/jobs/{job}{path}"), 404)
    for action in ("cancel", "resume", "retry"):
        problem_of(await fyke.post(job, action), 404)
    problem_of(await fyke.client.delete(f"/api/v1/jobs/{job}"), 404)
    assert job not in [shown["id"] for shown in data_of(await fyke.client.get("/api/v1/jobs"))]


async def test_an_ended_job_goes_with_its_exports(fyke: World) -> None:
    job = await fyke.crawl(fyke.shop.products(2), options={"exports": ["csv"]})
    made = await fyke.results(job["id"], "exports")
    assert [export["format"] for export in made] == ["csv"] * 3
    await gone(fyke, job["id"])
    assert data_of(await fyke.client.get("/api/v1/exports")) == []
    for export in made:
        problem_of(await fyke.client.get(export["url"]), 404)


async def test_a_running_job_goes_and_its_waiting_tasks_with_it(fyke: World) -> None:
    job = await held(fyke)
    await gone(fyke, job)
    fyke.shop.door.set()
    # The next job of the same pages is not in the way of what is left of the first, or the reverse.
    after = await fyke.crawl(fyke.shop.products(6))
    assert (after["state"], counted(after)) == ("succeeded", (6, 6, 0, 0))


async def test_a_cancelling_job_goes(fyke: World) -> None:
    job = await held(fyke)
    await fyke.post(job, "cancel")
    await gone(fyke, job)


# --- told twice at once ---


async def test_of_many_who_cancel_one_does(fyke: World) -> None:
    job = await held(fyke)
    answers: list[httpx.Response] = await asyncio.gather(*[fyke.post(job, "cancel") for _ in range(8)])
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 7


async def test_of_many_who_retry_the_pages_run_once(fyke: World, partial: dict[str, Any]) -> None:
    before = dict(fyke.shop.hits)
    fyke.shop.door.clear()
    answers = await asyncio.gather(*[fyke.post(partial["id"], "retry") for _ in range(5)])
    retried = [data_of(answer, 202)["retried"] for answer in answers if answer.status_code == 202]
    assert sum(retried) == 4
    fyke.shop.door.set()
    assert counted(await fyke.ended(partial["id"])) == (6, 2, 4, 0)
    assert fyke.shop.hits["/gone"] == before["/gone"] + 1


async def test_a_list_does_not_outlive_a_job_that_could_not_be_made(
    parts: Parts, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(conn: Conn, new: NewJob) -> int:
        raise DiskFull

    monkeypatch.setattr("fyke.api.jobs.create_job", full)
    urls = [f"http://shop.test/{number}" for number in range(600)]
    assert (await admin.post("/api/v1/jobs", json={"urls": urls})).status_code >= 500
    assert list((parts.settings.data_dir / "objects").rglob("list.gz")) == []
