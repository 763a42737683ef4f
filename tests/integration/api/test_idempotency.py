"""A creating request that is sent again, or twice at once, creates one thing."""

import asyncio
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.world import data_of
from tests.integration.api_parts import Parts

JOBS = "/api/v1/jobs"
BODY: Final = {"urls": ["http://shop.test/1"]}


async def send(client: httpx.AsyncClient, key: str, body: Any = BODY, path: str = JOBS) -> httpx.Response:
    return await client.post(path, json=body, headers={"Idempotency-Key": key})


async def jobs(client: httpx.AsyncClient) -> list[str]:
    return [job["id"] for job in data_of(await client.get(JOBS))]


async def test_again_gives_the_same_answer(admin: httpx.AsyncClient) -> None:
    first, again = await send(admin, "a"), await send(admin, "a")
    assert data_of(again, 201) == data_of(first, 201)
    assert again.headers["location"] == first.headers["location"]
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert first.json()["meta"]["request_id"] != again.json()["meta"]["request_id"]
    assert await jobs(admin) == [data_of(first, 201)["id"]]


async def test_the_order_of_the_names_in_a_body_does_not_matter(admin: httpx.AsyncClient) -> None:
    first = await send(admin, "a", {"urls": BODY["urls"], "name": "x"})
    again = await send(admin, "a", {"name": "x", "urls": BODY["urls"]})
    assert data_of(again, 201) == data_of(first, 201)


async def test_another_key_and_no_key_create_anew(admin: httpx.AsyncClient) -> None:
    for _ in range(2):
        data_of(await admin.post(JOBS, json=BODY), 201)
    await send(admin, "a")
    await send(admin, "b")
    assert len(set(await jobs(admin))) == 4


async def test_another_body_is_refused(admin: httpx.AsyncClient) -> None:
    await send(admin, "a")
    answer = await send(admin, "a", {"urls": ["http://shop.test/2"]})
    assert problem_of(answer, 422)["code"] == "idempotency_mismatch"
    answer = await send(admin, "a", {"name": "x"}, "/api/v1/keys")
    assert problem_of(answer, 422)["code"] == "idempotency_mismatch"
    assert len(await jobs(admin)) == 1


async def test_a_request_that_failed_may_be_mended(admin: httpx.AsyncClient) -> None:
    problem_of(await send(admin, "a", {"urls": ["nowhere"]}), 422)
    data_of(await send(admin, "a"), 201)


async def test_a_key_belongs_to_who_sends_it(parts: Parts, admin: httpx.AsyncClient) -> None:
    await send(admin, "a")
    async with parts.client("submit") as other:
        assert "idempotency-replayed" not in (await send(other, "a", {"urls": ["http://b.test/"]})).headers
    assert len(await jobs(admin)) == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "ä"])
async def test_a_key_that_cannot_be(admin: httpx.AsyncClient, key: str) -> None:
    answer = await admin.post(JOBS, json=BODY, headers={b"Idempotency-Key": key.encode()})
    assert list(fields_of(answer)) == ["Idempotency-Key"]
    assert await jobs(admin) == []


async def test_twins_at_once_are_one(tmp_path: Path, database_url: str) -> None:
    """On every database; with short lists, which are tasks, and long ones, which are objects first."""
    long = {"urls": [f"http://shop.test/{number}" for number in range(600)]}
    async with Parts.running(tmp_path, database_url) as parts, parts.client() as admin:
        for key, body in (("short", BODY), ("long", long)):
            answers = await asyncio.gather(*[send(admin, key, body) for _ in range(8)])
            found = {data_of(answer, 201)["id"] for answer in answers}
            replayed = sum("idempotency-replayed" in answer.headers for answer in answers)
            assert (len(found), replayed) == (1, 7)
        assert len(await jobs(admin)) == 2
        exports = f"{JOBS}/{(await jobs(admin))[0]}/exports"
        wanted = {"type": "full", "format": "csv"}
        answers = await asyncio.gather(*[send(admin, "export", wanted, exports) for _ in range(4)])
        assert len({data_of(answer, 201)["id"] for answer in answers}) == 1
        keys = await asyncio.gather(*[send(admin, "key", {"name": "x"}, "/api/v1/keys") for _ in range(8)])
        assert len({data_of(answer, 201)["token"] for answer in keys}) == 1
        # The lists that the twins wrote are gone: one is left, for the one job.
        assert len(list((tmp_path / "objects" / "jobs").rglob("list.gz"))) == 1


async def test_twins_at_once_with_different_bodies(tmp_path: Path, database_url: str) -> None:
    async with Parts.running(tmp_path, database_url) as parts, parts.client() as admin:
        bodies = [{"urls": [f"http://shop.test/{n}/{i}" for i in range(600)]} for n in range(6)]
        answers = await asyncio.gather(*[send(admin, "a", body) for body in bodies])
        assert sorted(answer.status_code for answer in answers) == [201] + [422] * 5
        assert len(await jobs(admin)) == 1
        assert len(list((tmp_path / "objects" / "jobs").rglob("list.gz"))) == 1
