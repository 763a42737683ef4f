"""The same round on every database: whatever the API reads and writes, it does there, too."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.test_stream import all_of
from tests.integration.api.world import data_of, world
from tests.integration.api_parts import Parts
from tests.integration.jobs.site import Reply, Site, product

EDGES = ("0" * 16, "f" * 16, "8000000000000000", "7fffffffffffffff")


async def test_a_whole_round(tmp_path: Path, template: Path, shop: Site, database_url: str) -> None:
    async with world(tmp_path, template, shop, database_url=database_url) as fyke:
        paths = shop.products(12)
        shop.pages[paths[3]] = Reply(b"", status=500)
        job = await fyke.crawl([*paths, "/gone"], name="all", options={"exports": ["csv"]})
        assert (job["state"], job["succeeded"], job["failed"]) == ("partial", 11, 2)
        urls = list(shop.urls([*paths, "/gone"]))
        assert [page["url"] for page in await fyke.results(job["id"], "pages")] == urls
        assert len(await fyke.results(job["id"], "pages", state="failed", error_class="http_5xx")) == 1
        assert {group["error_class"] for group in await fyke.results(job["id"], "errors")} == {
            "http_5xx",
            "not_found",
        }
        assert len(await fyke.results(job["id"], "diff", change_type="ADDED")) == 11
        assert await fyke.results(job["id"], "metrics")
        events = await all_of(fyke, job["id"])
        assert Counter(event.kind for event in events)["page"] == 13
        assert events[-1].data["state"] == "partial"
        # What failed is tried again; what a second crawl does not find is told.
        shop.pages[paths[3]] = product("Mended", 3)
        assert data_of(await fyke.post(job["id"], "retry", error_class="http_5xx"), 202)["retried"] == 1
        job = await fyke.ended(job["id"])
        assert (job["succeeded"], job["failed"]) == (12, 1)
        second = await fyke.crawl(paths[1:], name="all")
        changes = Counter(row["change_type"] for row in await fyke.results(second["id"], "diff"))
        assert changes == {"UNCHANGED": 11, "REMOVED": 1}
        made = data_of(await fyke.post(job["id"], "exports", type="full", format="csv"), 201)
        rows = list(csv.DictReader(io.StringIO((await fyke.client.get(made["url"])).text)))
        assert [row["url"] for row in rows if row["title"]] == urls[:-1]
        assert (await fyke.client.get("/health")).json()["status"] == "ok"
        assert "fyke_database_up 1.0" in (await fyke.client.get("/metrics")).text
        data_of(await fyke.client.delete(f"/api/v1/jobs/{job['id']}"))
        problem_of(await fyke.client.get(f"/api/v1/jobs/{job['id']}/pages"), 404)


async def test_values_at_the_edge_of_what_is_taken(tmp_path: Path, database_url: str) -> None:
    """What the API lets through, every database can hold and look for."""
    async with Parts.running(tmp_path, database_url) as parts, parts.client() as admin:
        for word in ("x" * 255, "𝔉" * 255, "a'b\"c\\%_$1 {lock}", "ß İ ı", " "):
            body = {"urls": ["http://shop.test/"], "domain": word, "name": word}
            made = data_of(await admin.post("/api/v1/jobs", json=body), 201)
            assert made["domain"] == word
            found = data_of(await admin.get("/api/v1/jobs", params={"domain": word}))
            assert [job["id"] for job in found] == [made["id"]]
        data_of(await admin.post("/api/v1/keys", json={"name": "𝔉" * 200, "scopes": ["read"]}), 201)
        most = {"max_urls": 10**9, "max_concurrency": 10**9, "traffic_budget_mb": 1e9, "time_limit_s": 1e9}
        far = {"urls": ["http://shop.test/" + "x" * 8000], "options": {**most, "residential_limit_mb": 1e9}}
        made = data_of(await admin.post("/api/v1/jobs", json=far), 201)
        paths = [f"/api/v1/jobs/{made['id']}/{kind}" for kind in ("pages", "diff", "metrics", "exports")]
        for path in ("/api/v1/jobs", "/api/v1/keys", "/api/v1/exports", *paths):
            for cursor in EDGES:
                data_of(await admin.get(path, params={"cursor": cursor}))
        for time in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00.1Z"):
            answer = await admin.get("/api/v1/jobs", params={"created_from": time, "created_to": time})
            assert answer.status_code == 200 or list(fields_of(answer)) == ["created_from", "created_to"]


@pytest.mark.parametrize("last", ["0-0", f"{10**17}-1", f"{10**17}-{10**8}"])
async def test_places_at_the_edge(tmp_path: Path, template: Path, shop: Site, last: str) -> None:
    async with world(tmp_path, template, shop) as fyke:
        job = await fyke.crawl(shop.products(1))
        assert (await all_of(fyke, job["id"], last))[-1].kind == "complete"
