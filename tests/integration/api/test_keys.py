"""API keys: how they are sent, what they allow, and that nobody can read them anywhere."""

import httpx
import pytest
from fastapi import FastAPI

from fyke.api.auth import new_token
from tests.integration.api.test_envelope import ANY, problem_of
from tests.integration.api.world import data_of
from tests.integration.api_parts import Parts

UNKNOWN = new_token(bytes(range(32)))
SENT = {
    "Authorization": "Bearer {}",
    "authorization": "bearer  {}",
    "X-Api-Key": "{}",
    "X-Service-Key": "{}",
}


@pytest.mark.parametrize(("header", "form"), SENT.items())
async def test_three_headers_carry_a_key(parts: Parts, header: str, form: str) -> None:
    async with parts.client(None) as client:
        headers = {header: form.format(parts.tokens["read"])}
        assert (await client.get("/api/v1/jobs", headers=headers)).status_code == 200


@pytest.mark.parametrize("token", ["", "x", UNKNOWN, UNKNOWN[:-1], "ké" * 24, "fyke_" + "é" * 43])
@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key", "X-Service-Key"])
async def test_a_key_that_nobody_has_is_401(parts: Parts, header: str, token: str) -> None:
    async with parts.client(None) as client:
        answer = await client.get(
            "/api/v1/jobs", headers={header.encode(): SENT[header].format(token).encode()}
        )
    assert problem_of(answer, 401)["code"] == "authentication_required"
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not token or token not in answer.text


@pytest.mark.parametrize("good", SENT)
@pytest.mark.parametrize("other", SENT)
async def test_a_wrong_key_beside_a_good_one_is_401(parts: Parts, good: str, other: str) -> None:
    token = parts.tokens["read"]
    async with parts.client(None) as client:
        for second in (UNKNOWN, "", "x", parts.tokens["admin"]):
            headers = [(good, SENT[good].format(token)), (other, SENT[other].format(second))]
            for given in (headers, headers[::-1]):
                answer = await client.get("/api/v1/jobs", headers=given)
                assert problem_of(answer, 401)["code"] == "authentication_required", given
        both = [(good, SENT[good].format(token)), (other, SENT[other].format(token))]
        assert (await client.get("/api/v1/jobs", headers=both)).status_code == 200
        for second in ("Basic bWU6aHVudGVyMg==", token, "Bearer", ""):
            headers = [("Authorization", second), ("X-Api-Key", token)]
            assert (await client.get("/api/v1/jobs", headers=headers)).status_code == 401, second


async def test_no_key_is_401(parts: Parts) -> None:
    async with parts.client(None) as client:
        problem_of(await client.get("/api/v1/jobs"), 401)
        headers = {"Authorization": "Basic " + parts.tokens["admin"]}
        problem_of(await client.get("/api/v1/jobs", headers=headers), 401)


def routes_of(app: FastAPI) -> dict[str, list[tuple[str, str]]]:
    """Methods and paths of the API, by the scope they need."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            scope = "none"
            if path.startswith("/api/"):
                scope = "read" if method == "get" else "submit"
            if path.startswith("/api/v1/keys"):
                scope = "admin"
            found.setdefault(scope, []).append((method.upper(), path))
    return found


async def test_every_route_asks_for_its_scope_before_it_looks_at_anything(parts: Parts) -> None:
    routes = routes_of(parts.app)
    assert {scope: len(found) for scope, found in routes.items()} == {
        "read": 12,
        "submit": 6,
        "admin": 3,
        "none": 4,
    }
    for needed, found in routes.items():
        for method, path in found:
            at = path.replace("{job_id}", ANY).replace("{export_id}", ANY).replace("{key_id}", ANY)
            for scope in ("read", "submit", "worker", "admin", None):
                async with parts.client(scope) as client:
                    answer = await client.request(method, at)
                if needed == "none":
                    assert answer.status_code in (200, 503), path
                elif scope is None:
                    problem_of(answer, 401)
                elif scope in (needed, "admin"):
                    assert answer.status_code in (200, 404, 422), (method, path, scope)
                else:
                    assert problem_of(answer, 403)["details"] == {"scope": needed}, (method, path, scope)


async def test_a_key_is_made_used_and_revoked(parts: Parts, admin: httpx.AsyncClient) -> None:
    made = data_of(await admin.post("/api/v1/keys", json={"name": "ci", "scopes": ["read"]}), 201)
    async with parts.client(None) as client:
        client.headers["X-Api-Key"] = made["token"]
        assert (await client.get("/api/v1/jobs")).status_code == 200
        listed = {key["id"]: key for key in data_of(await admin.get("/api/v1/keys"))}
        assert (listed[made["id"]]["name"], listed[made["id"]]["scopes"]) == ("ci", ["read"])
        assert listed[made["id"]]["last_used_at"] is not None
        assert data_of(await admin.delete(f"/api/v1/keys/{made['id']}")) == {
            "id": made["id"],
            "deleted": True,
        }
        problem_of(await client.get("/api/v1/jobs"), 401)
        problem_of(await admin.delete(f"/api/v1/keys/{made['id']}"), 404)


async def test_a_key_does_not_revoke_itself(admin: httpx.AsyncClient) -> None:
    """Whoever did so by mistake would have no way back in."""
    own = data_of(await admin.post("/api/v1/keys", json={"name": "own", "scopes": ["admin"]}), 201)
    headers = {"Authorization": f"Bearer {own['token']}"}
    answer = await admin.delete(f"/api/v1/keys/{own['id']}", headers=headers)
    assert "another" in problem_of(answer, 409)["message"]
    assert (await admin.get("/api/v1/keys", headers=headers)).status_code == 200
    data_of(await admin.delete(f"/api/v1/keys/{own['id']}"))


async def test_a_token_is_shown_once_and_kept_nowhere(parts: Parts, admin: httpx.AsyncClient) -> None:
    body, once = {"name": "ci", "scopes": ["submit"]}, {"Idempotency-Key": "k1"}
    made = data_of(await admin.post("/api/v1/keys", json=body, headers=once), 201)
    assert made["token"] not in (await admin.get("/api/v1/keys")).text
    assert made["token"] not in (await admin.get("/metrics")).text
    # What is on the disk, and in the log that goes before it, has no token in it.
    files = [path for path in parts.settings.data_dir.rglob("*") if path.is_file()]
    assert files
    for token in (made["token"], *parts.tokens.values()):
        assert not any(token.encode() in path.read_bytes() for path in files)
    again = await admin.post("/api/v1/keys", json=body, headers=once)
    assert again.headers["idempotency-replayed"] == "true"
    assert data_of(again, 201) == made


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": "x", "scopes": []}, {"name": "x", "scopes": ["root"]}, {"name": "x" * 201}],
)
async def test_a_key_that_cannot_be(admin: httpx.AsyncClient, body: dict[str, object]) -> None:
    problem_of(await admin.post("/api/v1/keys", json=body), 422)
