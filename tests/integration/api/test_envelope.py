"""One envelope for whatever is answered, and an id for every request."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from fyke.api.boundary import MAX_BODY, BodyLimits
from tests.integration.api_parts import Parts

ANY = "5f0c6f6e-2d34-4c1b-9a55-0b6f6a1d7e9c"
NOWHERE = f"/api/v1/jobs/{ANY}"
NAMES = {"success", "data", "error", "meta"}


def problem_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    """The error of an answer that is an envelope in every respect."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert set(body) == NAMES
    assert (body["success"], body["data"]) == (False, None)
    assert set(body["error"]) == {"code", "message", "details"}
    assert body["error"]["message"]
    assert body["meta"]["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    assert "File " not in answer.text
    return dict(body["error"])


def fields_of(answer: httpx.Response) -> dict[str, str]:
    """Of an answer 422, the fields and what is said of them."""
    return {field["field"]: field["message"] for field in problem_of(answer, 422)["details"]["fields"]}


async def test_success(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/api/v1/jobs")
    assert answer.status_code == 200
    body = answer.json()
    assert set(body) == NAMES
    assert (body["success"], body["data"], body["error"]) == (True, [], None)
    assert body["meta"] == {
        "request_id": answer.headers["x-request-id"],
        "paging": {"limit": 50, "next": None},
    }


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("GET", "/api/v1/jobs/", 404, "not_found"),
        ("GET", NOWHERE, 404, "job_not_found"),
        ("GET", f"{NOWHERE}/pages", 404, "job_not_found"),
        ("GET", f"{NOWHERE}/errors", 404, "job_not_found"),
        ("GET", f"{NOWHERE}/diff", 404, "job_not_found"),
        ("GET", f"{NOWHERE}/metrics", 404, "job_not_found"),
        ("GET", f"{NOWHERE}/exports", 404, "job_not_found"),
        ("GET", f"{NOWHERE}/stream", 404, "job_not_found"),
        ("DELETE", NOWHERE, 404, "job_not_found"),
        ("POST", f"{NOWHERE}/cancel", 404, "job_not_found"),
        ("POST", f"{NOWHERE}/resume", 404, "job_not_found"),
        ("POST", f"{NOWHERE}/retry", 404, "job_not_found"),
        ("GET", f"/api/v1/exports/{ANY}/download", 404, "export_not_found"),
        ("DELETE", f"/api/v1/keys/{ANY}", 404, "key_not_found"),
        ("PUT", "/api/v1/jobs", 405, "method_not_allowed"),
        ("PATCH", "/health", 405, "method_not_allowed"),
        ("GET", "/api/v1/jobs/17", 422, "validation_error"),
        ("GET", "/api/v1/jobs?limit=0", 422, "validation_error"),
        ("POST", "/api/v1/jobs", 422, "validation_error"),
    ],
)
async def test_failure(admin: httpx.AsyncClient, method: str, path: str, status: int, code: str) -> None:
    assert problem_of(await admin.request(method, path), status)["code"] == code


async def test_a_method_that_a_path_does_not_know_names_those_it_knows(admin: httpx.AsyncClient) -> None:
    answer = await admin.put("/api/v1/jobs")
    assert answer.headers["allow"] == "GET, POST"
    assert "use GET, POST" in problem_of(answer, 405)["message"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not JSON at character 1: "),
        (b"\xff\xfe{", "its characters cannot be read: JSON in UTF-8 is expected"),
        (b"[" * 200_000, "nested too deeply to be read"),
        (b'{"urls": ' + b"9" * 5000 + b"}", "cannot be read: JSON is expected"),
        (b'"urls"', "a JSON object is expected"),
        (b"[]", "a JSON object is expected"),
    ],
    ids=lambda value: repr(value[:20]),
)
async def test_a_body_that_is_no_json_object(admin: httpx.AsyncClient, body: bytes, said: str) -> None:
    answer = await admin.post("/api/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    assert fields_of(answer)["body"].startswith(said)


@pytest.mark.parametrize(
    "body",
    [
        b'{"name": "\\ud800"}',
        b'{"\\ud800": 1}',
        b'{"options": {"target": "\\udfff"}}',
        b'{"options": {"traffic_budget_mb": NaN}}',
        b'{"options": {"max_urls": 1e999}}',
        b"null",
        b"",
        b'{"urls": ["http://shop.test/"], "name": "a\\u0000b"}',
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_a_body_that_makes_no_sense(admin: httpx.AsyncClient, body: bytes) -> None:
    answer = await admin.post("/api/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    problem_of(answer, 422)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_body_of_another_kind(admin: httpx.AsyncClient, kind: str) -> None:
    answer = await admin.post("/api/v1/jobs", content=b"urls=x", headers={"Content-Type": kind})
    assert fields_of(answer)["body"] == "a JSON object with `Content-Type: application/json` is expected"


async def test_an_id_that_is_none(admin: httpx.AsyncClient) -> None:
    for path, field, said in (
        ("jobs/nothing", "job_id", "not the id of a job: a UUID is expected"),
        ("exports/nothing/download", "export_id", "not the id of an export: a UUID is expected"),
    ):
        assert fields_of(await admin.get(f"/api/v1/{path}"))[field] == said


async def test_a_body_that_says_it_is_too_large_is_not_read(parts: Parts) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"["
        pytest.fail("the body was read on")

    headers = {"Content-Length": str(MAX_BODY + 1), "Content-Type": "application/json"}
    async with parts.client() as client:
        answer = await client.post("/api/v1/jobs", content=body(), headers=headers)
    assert problem_of(answer, 413)["code"] == "body_too_large"


async def test_a_body_that_stops_coming_is_given_up(parts: Parts) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.Event().wait()

    (limits,) = [
        layer
        for layer in parts.app.user_middleware
        if getattr(layer.cls, "__name__", "") == BodyLimits.__name__
    ]
    limits.kwargs["body_timeout"] = 0.05
    async with parts.client() as client, asyncio.timeout(20):
        answer = await client.post("/api/v1/jobs", content=body())
    assert problem_of(answer, 408)["code"] == "body_too_slow"
    assert answer.headers["connection"] == "close"


async def test_a_bug_answers_500_and_says_nothing_of_itself(
    parts: Parts, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("secret: /etc/fyke")

    parts.submit = broken  # type: ignore[method-assign,assignment]  # a part that has a bug
    async with parts.client() as client:
        answer = await client.post("/api/v1/jobs", json={"urls": ["http://shop.test/"]})
        assert problem_of(answer, 500)["code"] == "internal_error"
        assert "secret" not in answer.text
        log = capsys.readouterr().out
        assert "RuntimeError" in log
        assert answer.headers["x-request-id"] in log
        assert (await client.get("/api/v1/jobs")).json()["data"] == []


async def test_a_closed_database_is_503(parts: Parts, admin: httpx.AsyncClient) -> None:
    await parts.database.close()
    answer = await admin.get("/api/v1/jobs")
    assert problem_of(answer, 503)["code"] == "store_error"
    assert answer.headers["retry-after"] == "1"


# --- the request's id ---


@pytest.mark.parametrize("given", [ANY, ANY.upper()])
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/nothing", "/health", "/metrics", "/reference"])
async def test_a_uuid_is_kept(admin: httpx.AsyncClient, path: str, given: str) -> None:
    answer = await admin.get(path, headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] == given
    if path.startswith("/api"):
        assert answer.json()["meta"]["request_id"] == given


@pytest.mark.parametrize("given", ["", "17", "x" * 36, ANY + "0", "{" + ANY[1:-1] + "}", "0" * 32])
async def test_anything_else_is_not(admin: httpx.AsyncClient, given: str) -> None:
    answer = await admin.get("/api/v1/jobs", headers={"X-Request-ID": given})
    assert answer.headers["x-request-id"] != given
    UUID(answer.headers["x-request-id"])


# --- bad input names its place, and what would have been right ---


@pytest.mark.parametrize(
    ("body", "field", "nearest"),
    [
        ({"url": ["http://shop.test/"]}, "url", "'urls'"),
        ({"urls": ["http://shop.test/"], "options": {"max_url": 5}}, "options.max_url", "'max_urls'"),
        ({"urls": ["http://shop.test/"], "options": {"exports": ["xls"]}}, "options.exports.0", "'xlsx'"),
        ({"urls": ["http://shop.test/"], "options": {"target": "products"}}, "options.target", "'product'"),
        (
            {"urls": ["http://shop.test/"], "options": {"strategies": ["htpp"]}},
            "options.strategies.0",
            "'http'",
        ),
    ],
)
async def test_an_unknown_name_in_a_job(
    admin: httpx.AsyncClient, body: dict[str, Any], field: str, nearest: str
) -> None:
    said = fields_of(await admin.post("/api/v1/jobs", json=body))
    assert f"did you mean {nearest}?" in said[field]


@pytest.mark.parametrize(
    ("query", "field", "nearest"),
    [
        ("state=runing", "state", "'running'"),
        ("stat=running", "stat", "'state'"),
        ("cursr=0", "cursr", "'cursor'"),
    ],
)
async def test_an_unknown_name_in_a_query(
    admin: httpx.AsyncClient, query: str, field: str, nearest: str
) -> None:
    said = fields_of(await admin.get(f"/api/v1/jobs?{query}"))
    assert f"did you mean {nearest}?" in said[field]


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "body", "exactly one of urls, sitemap_url, site_url is expected, not 0"),
        ({"urls": ["http://a.test/"], "site_url": "http://a.test/"}, "body", "not 2"),
        ({"urls": []}, "urls", "at least 1 item"),
        ({"urls": "http://a.test/"}, "urls", "valid list"),
        ({"urls": ["http://a.test/", "not a url"]}, "urls.1", "not a URL"),
        ({"urls": ["ftp://a.test/"]}, "urls.0", "http"),
        ({"sitemap_url": "nowhere"}, "sitemap_url", "not a URL"),
        (
            {"urls": ["http://a.test/"], "options": {"max_urls": -1}},
            "options.max_urls",
            "greater than or equal to 0",
        ),
        ({"urls": ["http://a.test/"], "options": {"max_urls": "5"}}, "options.max_urls", "valid integer"),
        (
            {"urls": ["http://a.test/"], "options": {"priority": 11}},
            "options.priority",
            "less than or equal to 10",
        ),
        ({"urls": ["http://a.test/"], "options": {"callback_url": "x"}}, "options.callback_url", "not a URL"),
        (
            {"urls": ["http://a.test/"], "options": {"callback_url": "ftp://a.test/"}},
            "options.callback_url",
            "scheme 'ftp' is not http or https",
        ),
        (
            {"urls": ["http://a.test/"], "options": {"strategies": ["browser"]}},
            "options.strategies.0",
            "unknown strategy 'browser': did you mean 'http'?",
        ),
        (
            {"urls": ["http://a.test/"], "options": {"exports": ["csv", "cvs"]}},
            "options.exports.1",
            "unknown export 'cvs': did you mean 'csv'?",
        ),
        (
            {"urls": ["http://a.test/"], "options": {"schedule": "@daily"}},
            "options.schedule",
            "there are no schedules yet",
        ),
        (
            {"urls": ["http://a.test/"], "options": {"exports": ["parquet"]}},
            "options.exports",
            "-m pip install 'pyarrow>=",
        ),
    ],
)
async def test_a_field_that_is_wrong(
    admin: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    body: dict[str, Any],
    field: str,
    said: str,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    assert said in fields_of(await admin.post("/api/v1/jobs", json=body))[field]
    assert (await admin.get("/api/v1/jobs")).json()["data"] == []


async def test_what_the_guard_refuses_is_said_with_its_line(tmp_path: Any, template: Any) -> None:
    async with Parts.running(tmp_path) as parts, parts.client() as admin:
        parts.guard = type(parts.guard)([])
        urls = ["http://shop.example/", "http://127.0.0.1/", "http://10.0.0.1/"]
        answer = await admin.post("/api/v1/jobs", json={"urls": urls})
        assert problem_of(answer, 422)["code"] == "egress_refused"
        assert list(fields_of(answer)) == ["urls.1", "urls.2"]
        for url, code in (("http://10.0.0.1/", "egress_refused"), ("http://[", "validation_error")):
            told = {"urls": urls[:1], "options": {"callback_url": url}}
            answer = await admin.post("/api/v1/jobs", json=told)
            assert problem_of(answer, 422)["code"] == code
            assert list(fields_of(answer)) == ["options.callback_url"]
        body = {"urls": urls, "skip_invalid": True}
        data = (await admin.post("/api/v1/jobs", json=body)).json()["data"]
        assert (data["total"], data["left_out"]) == (1, 2)
        assert [line["line"] for line in data["left_out_lines"]] == [2, 3]


async def test_a_password_in_a_url_is_shown_nowhere(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/api/v1/jobs", json={"urls": ["http://me:hunter2@shop.test/ x"]})
    problem_of(answer, 422)
    assert "hunter2" not in answer.text
    assert "hunter2" not in json.dumps((await admin.get("/api/v1/jobs")).json())


# --- browsers from elsewhere ---


async def test_origins(admin: httpx.AsyncClient) -> None:
    ours, other = "http://localhost:3000", "http://evil.test"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
    answer = await admin.options("/api/v1/jobs", headers={"Origin": ours, **asked})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, ours)
    assert "x-api-key" in answer.headers["access-control-allow-headers"]
    answer = await admin.get("/api/v1/jobs", headers={"Origin": ours})
    assert answer.headers["access-control-allow-origin"] == ours
    assert "x-request-id" in answer.headers["access-control-expose-headers"].lower()
    refused = await admin.options("/api/v1/jobs", headers={"Origin": other, **asked})
    assert problem_of(refused, 400)["code"] == "cors_refused"
    assert "access-control-allow-origin" not in refused.headers
    answer = await admin.get("/api/v1/jobs", headers={"Origin": other})
    assert "access-control-allow-origin" not in answer.headers


async def test_an_error_reaches_a_page_from_an_allowed_origin(parts: Parts) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError

    parts.submit = broken  # type: ignore[method-assign,assignment]  # a part that has a bug
    async with parts.client() as client:
        headers = {"Origin": "http://localhost:3000"}
        for body, status in (({"urls": ["http://a.test/"]}, 500), ({}, 422)):
            answer = await client.post("/api/v1/jobs", json=body, headers=headers)
            assert answer.status_code == status
            assert answer.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_origins_are_a_setting(tmp_path: Any, template: Any) -> None:
    async with (
        Parts.running(tmp_path, cors_origins=["https://dash.example"]) as parts,
        parts.client() as admin,
    ):
        for origin, allowed in (("https://dash.example", True), ("http://localhost:3000", False)):
            answer = await admin.get("/api/v1/jobs", headers={"Origin": origin})
            assert ("access-control-allow-origin" in answer.headers) == allowed
