"""Lists: a page at a time, in an order that new things do not disturb, and filtered."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.api.test_envelope import fields_of
from tests.integration.api.world import World, data_of
from tests.integration.api_parts import Parts
from tests.integration.jobs.site import Reply

JOBS = "/api/v1/jobs"


async def make(client: httpx.AsyncClient, count: int, **body: Any) -> list[str]:
    """Jobs; their ids, the newest first."""
    made = []
    for number in range(count):
        answer = await client.post(JOBS, json={"urls": [f"http://shop.test/{number}"], **body})
        made.append(data_of(answer, 201)["id"])
    return made[::-1]


async def pages_of(client: httpx.AsyncClient, path: str, limit: int) -> AsyncIterator[list[dict[str, Any]]]:
    """A list, page by page."""
    cursor = ""
    while True:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        answer = await client.get(path, params=query)
        data = data_of(answer)
        assert answer.json()["meta"]["paging"]["limit"] == limit
        yield data
        cursor = answer.json()["meta"]["paging"]["next"]
        if cursor is None:
            return
        assert len(data) == limit


@pytest.mark.parametrize("limit", [1, 3, 6, 7])
async def test_pages_have_everything_once(admin: httpx.AsyncClient, limit: int) -> None:
    made = await make(admin, 6)
    assert [job["id"] async for page in pages_of(admin, JOBS, limit) for job in page] == made


async def test_what_is_made_or_deleted_meanwhile_disturbs_nothing(admin: httpx.AsyncClient) -> None:
    made = await make(admin, 6)
    seen: list[str] = []
    async for page in pages_of(admin, JOBS, 2):
        seen += [job["id"] for job in page]
        await make(admin, 2)
        data_of(await admin.delete(f"{JOBS}/{seen[-1]}"))  # where the cursor stands
    assert seen == made


async def test_fifty_by_default(admin: httpx.AsyncClient) -> None:
    for number in range(51):
        await admin.post("/api/v1/keys", json={"name": f"key {number}", "scopes": ["read"]})
    answer = await admin.get("/api/v1/keys")
    assert len(data_of(answer)) == 50
    following = answer.json()["meta"]["paging"]["next"]
    rest = data_of(await admin.get("/api/v1/keys", params={"cursor": following}))
    assert rest[0]["name"] == "key 0"
    assert len(rest) == 1 + 4


@pytest.mark.parametrize("cursor", ["x", "0", "g" * 16, "0" * 17, "0" * 15, "é" * 16, "0000000000000000'"])
@pytest.mark.parametrize("path", [JOBS, "/api/v1/keys", "/api/v1/exports"])
async def test_a_bad_cursor(admin: httpx.AsyncClient, path: str, cursor: str) -> None:
    assert list(fields_of(await admin.get(path, params={"cursor": cursor}))) == ["cursor"]


@pytest.mark.parametrize("cursor", ["0" * 16, "f" * 16, "8000000000000000", "7fffffffffffffff"])
@pytest.mark.parametrize("path", [JOBS, "/api/v1/keys", "/api/v1/exports"])
async def test_a_cursor_beyond_either_end(admin: httpx.AsyncClient, path: str, cursor: str) -> None:
    data_of(await admin.get(path, params={"cursor": cursor}))


@pytest.mark.parametrize("limit", ["0", "501", "-1", "x", "1.5", ""])
async def test_a_bad_limit(admin: httpx.AsyncClient, limit: str) -> None:
    assert list(fields_of(await admin.get(JOBS, params={"limit": limit}))) == ["limit"]


async def found(client: httpx.AsyncClient, **query: str) -> list[str]:
    return [job["id"] for job in data_of(await client.get(JOBS, params=query))]


async def test_jobs_by_domain_state_and_time(tmp_path: Path, database_url: str) -> None:
    async with Parts.running(tmp_path, database_url) as parts, parts.client() as admin:
        ours, others = await make(admin, 2, domain="ours"), await make(admin, 1)
        assert await found(admin, domain="ours") == ours
        assert await found(admin, domain="shop.test") == others
        assert await found(admin, domain="nobody's") == []
        data_of(await admin.post(f"{JOBS}/{ours[0]}/cancel"), 202)
        assert await found(admin, state="cancelling") == ours[:1]
        assert await found(admin, state="queued") == [*others, ours[1]]
        assert await found(admin, state="queued", domain="ours") == ours[1:]
        assert await found(admin, state="succeeded") == []
        made = data_of(await admin.get(f"{JOBS}/{ours[0]}"))["created_at"]
        assert await found(admin, created_from=made) == [*others, ours[0]]
        assert await found(admin, created_to=made) == [ours[1]]
        assert await found(admin, created_from=made.replace("Z", "+00:00").lower(), created_to=made) == []
        assert await found(admin, created_to="2020-01-01T00:00:00+14:00") == []


@pytest.mark.parametrize(
    "time", ["yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z"]
)
async def test_a_time_that_is_none(admin: httpx.AsyncClient, time: str) -> None:
    assert list(fields_of(await admin.get(JOBS, params={"created_from": time}))) == ["created_from"]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_time_at_the_edge_of_time(admin: httpx.AsyncClient, time: str) -> None:
    await make(admin, 1)
    answer = await admin.get(JOBS, params={"created_from": time})
    assert answer.status_code in (200, 422)


async def test_pages_of_a_job_are_in_the_order_of_its_plan(fyke: World) -> None:
    paths = fyke.shop.products(7)
    for path in paths[2:4]:
        fyke.shop.pages[path] = Reply(b"", status=503)
    job = (await fyke.crawl(paths))["id"]
    urls = list(fyke.shop.urls(paths))
    path = f"{JOBS}/{job}/pages"
    assert [page["url"] async for some in pages_of(fyke.client, path, 3) for page in some] == urls
    assert [page["url"] for page in await fyke.results(job, "pages", state="failed")] == urls[2:4]
    by_class = await fyke.results(job, "pages", error_class="http_5xx")
    assert [page["url"] for page in by_class] == urls[2:4]
    assert await fyke.results(job, "pages", error_class="dns") == []
    diff = f"{JOBS}/{job}/diff"
    assert [row["url"] async for some in pages_of(fyke.client, diff, 2) for row in some] == [
        *urls[:2],
        *urls[4:],
    ]
    for query, nearest in (("state=faild", "'failed'"), ("error_class=http_5x", "'http_5xx'")):
        ((said,),) = [fields_of(await fyke.client.get(f"{path}?{query}")).values()]
        assert f"did you mean {nearest}?" in said
