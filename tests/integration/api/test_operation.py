"""What operators look at: health, readiness, metrics; and what users read: reference, OpenAPI."""

import asyncio
import gzip
import json
import re
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fyke.api.metrics import DOMAINS
from fyke.api.services import EngineHealth
from fyke.api.stream import Position, follow
from fyke.core.ids import from_public
from fyke.core.outcome import EndJob
from fyke.store.health import read_load
from tests.integration.api.test_envelope import ANY, problem_of
from tests.integration.api.test_lists import make
from tests.integration.api.world import World, data_of
from tests.integration.api_parts import HandWorker, Parts
from tests.integration.jobs.site import Reply
from tests.servers import Postgres

OPEN = ("/health", "/readiness", "/metrics", "/reference", "/openapi.json")


@pytest.mark.parametrize("path", OPEN)
async def test_open_to_all(parts: Parts, path: str) -> None:
    async with HandWorker(parts), parts.client(None) as client:
        answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/health", "/readiness"])
async def test_a_look_without_a_body(fyke: World, path: str) -> None:
    answer = await fyke.client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "application/json"


# --- health ---


async def test_a_server_at_work_is_ok_and_ready(fyke: World) -> None:
    await fyke.crawl(fyke.shop.products(3))
    answer = await fyke.client.get("/health")
    health = answer.json()
    assert (answer.status_code, health["status"], health["reasons"]) == (200, "ok", [])
    assert health["database"]["ok"]
    assert [worker["state"] for worker in health["workers"]] == ["idle"]
    assert {queue["kind"]: queue["depth"] for queue in health["queues"]} == {
        "page": 0,
        "plan": 0,
        "finish": 0,
    }
    assert (health["running"], health["jobs"]) == (0, {"succeeded": 1})
    assert 0 <= health["event_loop_lag"] < 60
    assert health["parts"]["workers_wanted"] == 1
    answer = await fyke.client.get("/readiness")
    assert (answer.status_code, answer.json()) == (200, {"ready": True, "reasons": []})


async def test_work_that_nobody_does_is_degraded_and_not_ready(
    parts: Parts, admin: httpx.AsyncClient
) -> None:
    assert (await admin.get("/health")).json()["status"] == "ok"
    await make(admin, 2)
    answer = await admin.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert answer.json()["reasons"] == ["workers: none, and 2 tasks wait"]
    answer = await admin.get("/readiness")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    async with HandWorker(parts):
        assert (await admin.get("/health")).json()["status"] == "ok"
        assert (await admin.get("/readiness")).status_code == 200


async def test_what_stopped_counts_neither_for_depth_nor_for_age(
    parts: Parts, admin: httpx.AsyncClient
) -> None:
    for job in await make(admin, 2):
        assert (await admin.post(f"/api/v1/jobs/{job}/cancel")).status_code == 202
    async with HandWorker(parts) as worker:
        tasks = (await worker.claim()).tasks
        assert {task.kind for task in tasks} == {"finish"}
        for task in tasks:
            end = EndJob(msgspec.json.decode(task.payload)["job"])
            await worker.settle([task], {task.seq: [end]})
    load = await parts.database.read(read_load)
    assert [(queue.depth, queue.age) for queue in load.queues] == [(0, 0.0)] * 3
    await make(admin, 1)
    load = await parts.database.read(read_load)
    assert [queue.kind for queue in load.queues if queue.depth] == ["page"]


async def test_a_job_says_that_nobody_works_on_it(parts: Parts, admin: httpx.AsyncClient) -> None:
    (job,) = await make(admin, 1)

    async def problem() -> str | None:
        shown: str | None = data_of(await admin.get(f"/api/v1/jobs/{job}"))["problem"]
        return shown

    assert (await problem() or "").startswith("no worker is at work: ")
    async with HandWorker(parts) as worker:
        assert await problem() is None
        await worker.claim()
        await parts.database.write(lambda conn: conn.execute("UPDATE leases SET until = 0"))
        assert await problem() is not None, "it was killed"


async def test_a_job_says_that_its_results_cannot_be_written(parts: Parts, admin: httpx.AsyncClient) -> None:
    """Nothing can be written of it, so the row does not know."""
    (job,) = await make(admin, 1)
    parts.engine = EngineHealth({}, ("1 of 2 worker processes run", "results cannot be written: no space"))
    shown = (await admin.get(f"/api/v1/jobs/{job}")).json()["data"]
    assert shown["problem"] == "results cannot be written: no space"
    following = follow(parts, from_public(job), Position())
    async with asyncio.timeout(10):
        while b"cannot be written" not in (text := await anext(following)):
            pass
    assert text.startswith(b"event: log\ndata: ")
    await following.aclose()


async def test_a_worker_that_died_unnoticed_is_degraded(parts: Parts, admin: httpx.AsyncClient) -> None:
    async with HandWorker(parts) as worker:
        await parts.queue.expire(worker.lease)
        health = (await admin.get("/health")).json()
    assert health["status"] == "degraded"
    assert [worker["state"] for worker in health["workers"]] == ["disconnected"]
    assert "1 leases have run out" in health["reasons"][0]


async def test_an_object_store_that_takes_nothing_is_degraded_and_not_ready(fyke: World) -> None:
    objects, away = fyke.server.behind.settings.objects_path, fyke.server.behind.settings.data_dir / "away"
    job = await fyke.crawl(fyke.shop.products(1), options={"exports": ["csv"]})
    (export, *_) = data_of(await fyke.client.get(f"/api/v1/jobs/{job['id']}/exports"))
    assert (await fyke.client.get("/health")).json()["objects"]["ok"]
    objects.rename(away)
    objects.write_text("a file")
    answer = await fyke.client.get("/health")
    reason = "objects: the object store cannot be used: not a directory"
    assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
    assert (answer.json()["reasons"], answer.json()["objects"]["ok"]) == ([reason], False)
    answer = await fyke.client.get("/readiness")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "reasons": [reason]})
    for asked in (
        fyke.client.get(export["url"]),
        fyke.client.post(f"/api/v1/jobs/{job['id']}/exports", json={"type": "full", "format": "csv"}),
    ):
        assert problem_of(await asked, 503)["code"] == "object_store_error"
    objects.unlink()
    away.rename(objects)
    assert (await fyke.client.get("/readiness")).status_code == 200
    assert (await fyke.client.get(export["url"])).status_code == 200


async def test_an_object_store_that_does_not_answer_is_not_waited_for(
    parts: Parts, admin: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fyke.api.health.PATIENCE", 0.2)
    monkeypatch.setattr(parts.objects, "check", asyncio.Event().wait)
    health = (await admin.get("/health")).json()
    assert (health["status"], health["reasons"]) == ("degraded", ["objects: no answer within 0 s"])


async def test_a_flood_of_questions_is_answered_by_one_look(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is open to all; and one who leaves spoils it for nobody."""
    looks = 0
    check = parts.objects.check

    async def counted() -> None:
        nonlocal looks
        looks += 1
        await check()

    monkeypatch.setattr(parts.objects, "check", counted)
    parts.app.state.health.seconds = 60.0
    async with HandWorker(parts), parts.client(None) as client:
        asking = [asyncio.create_task(client.get(path)) for path in OPEN[:2] * 10]
        await asyncio.sleep(0)
        asking[0].cancel()
        answers = await asyncio.gather(*asking[1:])
        answers.append(await client.get("/health"))
        assert {answer.status_code for answer in answers} == {200}
        assert looks == 1
        parts.app.state.health.seconds = 0.0
        await client.get("/health")
        assert looks == 2


# --- logs ---


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


async def test_the_log_ties_requests_to_jobs_and_pages_to_workers(
    fyke: World, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = "f6c3b126-c3a0-48c9-a98c-cd488ef359b8"
    fyke.client.headers["X-Request-ID"] = identity
    job = await fyke.crawl([*fyke.shop.products(2), "/gone"])
    said = lines(capsys)
    (made,) = (line for line in said if line["event"] == "job_submitted")
    assert (made["job"], made["request_id"], made["level"]) == (job["id"], identity, "info")
    assert "worker" not in made
    worker = fyke.server.engine.worker
    pages = [line for line in said if line["event"] in ("page_completed", "page_failed")]
    assert {line["event"] for line in pages} == {"page_completed", "page_failed"}
    for line in pages:
        assert worker is not None
        assert (line["job"], line["worker"]) == (job["id"], worker.options.info.name)
        assert "request_id" not in line


async def test_what_fails_behind_a_job_is_logged_by_its_public_id_and_in_plain_words(
    fyke: World, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = fyke.server.behind.settings.objects_path
    objects.mkdir(exist_ok=True)
    objects.rename(objects.with_name("away"))
    objects.write_text("a file")
    job = await fyke.crawl(fyke.shop.products(1), options={"exports": ["csv"]})
    assert "the object store cannot be used: not a directory" in job["error_message"]
    objects.unlink()
    objects.with_name("away").rename(objects)
    fyke.shop.pages["/sitemap.xml"] = Reply(b"no sitemap")
    answer = await fyke.client.post("/api/v1/jobs", json={"sitemap_url": fyke.shop.url("/sitemap.xml")})
    second = await fyke.ended(data_of(answer, 201)["id"])
    said = [line for line in lines(capsys) if line["level"] in ("warning", "error")]
    assert {"exports_later", "exports_failed", "source_warnings"} <= {line["event"] for line in said}
    for line in said:
        assert "job" not in line or line["job"] in (job["id"], second["id"]), line
        assert "exception" not in line, line


# --- health, as others say it ---


async def test_what_the_engine_says_is_passed_on(parts: Parts, admin: httpx.AsyncClient) -> None:
    parts.engine = EngineHealth({"workers_wanted": 2}, ("1 of 2 worker processes run",), 3.0)
    health = (await admin.get("/health")).json()
    assert health["status"] == "degraded"
    assert health["reasons"] == ["1 of 2 worker processes run", "event loop: 3.0 s late"]
    assert health["parts"] == {"workers_wanted": 2}


async def test_without_a_database_nothing_works_and_nothing_is_given_away(
    parts: Parts, admin: httpx.AsyncClient
) -> None:
    await parts.database.close()
    answer = await admin.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (503, "down")
    assert answer.json()["reasons"] == ["database: store_error"]
    answer = await admin.get("/readiness")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    answer = await admin.get("/metrics")
    assert answer.status_code == 200
    assert "fyke_database_up 0.0" in answer.text


async def test_a_database_that_does_not_answer_is_not_waited_for_for_ever(
    tmp_path: Path, own_postgres: Postgres
) -> None:
    with own_postgres.database() as url:
        async with Parts.running(tmp_path, url) as parts, parts.client() as admin:
            assert (await admin.get("/health")).json()["status"] == "ok"
            own_postgres.pause()
            try:
                answers = await asyncio.gather(*[admin.get(path) for path in OPEN[:3]])
                assert [answer.status_code for answer in answers] == [503, 503, 200]
                assert "fyke_database_up 0.0" in answers[2].text
            finally:
                own_postgres.resume()
            assert (await admin.get("/health")).status_code == 200


# --- metrics ---


async def test_metrics_have_the_names_that_are_promised(fyke: World) -> None:
    await fyke.crawl([*fyke.shop.products(3), "/gone"], domain='a "name"\\')
    answer = await fyke.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert {name for name, _ in samples} >= {
        "fyke_database_up",
        "fyke_workers",
        "fyke_queue_depth",
        "fyke_queue_age_seconds",
        "fyke_tasks_total",
        "fyke_task_seconds_count",
        "fyke_tasks_leased",
        "fyke_bytes_total",
        "fyke_lease_takeovers_total",
        "fyke_late_outcomes_total",
        "fyke_event_loop_lag_seconds_count",
        "fyke_domain_pages",
        "fyke_domain_bytes",
        "fyke_jobs",
        "fyke_exports",
        "fyke_http_request_seconds_count",
    }

    def value(name: str, **labels: str) -> float:
        return samples[name, tuple(sorted(labels.items()))]

    assert value("fyke_tasks_total", kind="page", verdict="succeeded", error="") == 3
    assert value("fyke_tasks_total", kind="page", verdict="failed", error="not_found") == 1
    assert value("fyke_domain_pages", domain='a "name"\\', outcome="succeeded") == 3
    assert value("fyke_jobs", state="partial") == 1
    assert value("fyke_queue_depth", kind="page") == 0
    assert value("fyke_workers", state="idle") == 1
    labels = {"route": "/api/v1/jobs/{job_id}", "method": "GET", "status": "200"}
    assert value("fyke_http_request_seconds_count", **labels) >= 1


async def test_whatever_is_asked_for_there_are_only_so_many_series(
    parts: Parts, admin: httpx.AsyncClient
) -> None:
    for number in range(DOMAINS + 5):
        await make(admin, 1, domain=f"d{number:03}.test")
        await admin.get(f"/nothing/{number}")
        await admin.request(f"M{number}", "/api/v1/jobs")
    text = (await admin.get("/metrics")).text
    domains = set(re.findall(r'fyke_domain_pages{domain="([^"]*)"', text))
    assert len(domains) == DOMAINS + 1
    assert "other" in domains
    assert "/nothing/1" not in text
    assert 'method="M1"' not in text


async def test_scrapes_at_once_share_a_reading(parts: Parts, admin: httpx.AsyncClient) -> None:
    """Whoever comes during the first reading waits for it, and one who leaves spoils it for nobody."""
    asking = [asyncio.create_task(admin.get("/metrics")) for _ in range(4)]
    await asyncio.sleep(0)
    asking[0].cancel()
    answers = await asyncio.gather(*asking[1:])
    assert ["fyke_database_up 1.0" in answer.text for answer in answers] == [True] * 3


async def test_what_is_open_to_all_tells_no_secret(tmp_path: Path, postgres_url: str) -> None:
    """Neither a key nor the database's address or password, nor what a page said."""
    async with Parts.running(tmp_path, postgres_url) as parts, parts.client() as admin:
        await make(admin, 1)
        for path in OPEN[:3]:
            text = (await admin.get(path)).text
            for secret in (*parts.tokens.values(), postgres_url, str(tmp_path), "shop.test/0"):
                assert secret not in text
        await parts.database.close()
        assert postgres_url not in (await admin.get("/health")).text


# --- to be read ---


async def test_the_reference_comes_from_the_package(admin: httpx.AsyncClient) -> None:
    page = await admin.get("/reference")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    sources = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert sources
    assert all(source.startswith(("/", "data:")) and not source.startswith("//") for source in sources)
    # Whatever a script asks for, the browser fetches nothing from elsewhere.
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert not any("http" in value or "*" in value for value in policy.values())
    for source in sources:
        if source.startswith("/"):
            script = await admin.get(source)
            assert (script.status_code, script.headers["content-type"]) == (
                200,
                "text/javascript; charset=utf-8",
            )
    start = (await admin.get("/reference/start.js")).text
    assert '"/openapi.json"' in start
    assert "http" not in start.replace("httpClients", "")


async def test_the_script_is_sent_packed_and_once(admin: httpx.AsyncClient) -> None:
    packed = await admin.get("/reference/scalar.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    plain = await admin.get("/reference/scalar.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == packed.content  # the client has unpacked the one
    assert len(gzip.compress(plain.content)) > 100_000
    known = {"If-None-Match": packed.headers["etag"]}
    assert (await admin.get("/reference/scalar.js", headers=known)).status_code == 304


async def test_openapi_tells_of_options_without_effect(admin: httpx.AsyncClient) -> None:
    schemas = (await admin.get("/openapi.json")).json()["components"]["schemas"]
    options = schemas["OptionsBody"]["properties"]
    for name in ("allow_residential", "residential_limit_mb", "enable_firecrawl", "callback_url"):
        assert "has no effect yet" in options[name]["description"]


async def test_openapi_tells_every_route_and_every_answer(admin: httpx.AsyncClient) -> None:
    document = (await admin.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    operations = {
        f"{method.upper()} {path.removeprefix('/api/v1')}": operation
        for path, found in document["paths"].items()
        for method, operation in found.items()
    }
    assert set(operations) >= {
        "POST /jobs",
        "GET /jobs",
        "GET /jobs/{job_id}",
        "DELETE /jobs/{job_id}",
        "POST /jobs/{job_id}/cancel",
        "POST /jobs/{job_id}/resume",
        "POST /jobs/{job_id}/retry",
        "GET /jobs/{job_id}/pages",
        "GET /jobs/{job_id}/errors",
        "GET /jobs/{job_id}/diff",
        "GET /jobs/{job_id}/metrics",
        "GET /jobs/{job_id}/exports",
        "GET /jobs/{job_id}/stream",
        "GET /exports/{export_id}/download",
        "GET /health",
        "GET /readiness",
        "GET /metrics",
    }
    for name, operation in operations.items():
        assert operation.get("summary"), name
        assert operation.get("description"), name
        for status, answer in operation["responses"].items():
            assert "$ref" in answer or "X-Request-ID" in answer["headers"], (name, status)
    assert set(operations["POST /jobs"]["responses"]) >= {"201", "401", "403", "413", "422"}
    assert "409" in operations["POST /jobs/{job_id}/cancel"]["responses"]


async def test_a_job_that_is_not_there_and_one_that_is_answer_as_the_document_says(
    admin: httpx.AsyncClient,
) -> None:
    (job,) = await make(admin, 1)
    shown = data_of(await admin.get(f"/api/v1/jobs/{job}"))
    document = (await admin.get("/openapi.json")).json()
    assert set(shown) == set(document["components"]["schemas"]["JobShown"]["properties"])
    assert (await admin.get(f"/api/v1/jobs/{ANY}")).status_code == 404
