"""What only shows on real connections: bodies that never end, readers that go away, work meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from fyke.api.boundary import MAX_BODY
from tests.integration.api.test_envelope import problem_of
from tests.integration.api.world import World, data_of
from tests.integration.jobs.site import product

HEAD = (
    "POST /api/v1/jobs HTTP/1.1\r\nHost: fyke\r\nContent-Type: application/json\r\n"
    "Authorization: {key}\r\n{more}\r\n\r\n"
)


@asynccontextmanager
async def connected(
    fyke: World, more: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection on which the head of a request has been sent."""
    host, _, port = fyke.server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        head = HEAD.format(key=fyke.client.headers["Authorization"], more=more)
        writer.write(head.encode())
        await writer.drain()
        yield reader, writer
    finally:
        writer.close()


async def answer_of(reader: asyncio.StreamReader) -> httpx.Response:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    headers = httpx.Headers([(line.partition(": ")[0], line.partition(": ")[2]) for line in head[1:] if line])
    body = await reader.readexactly(int(headers["content-length"]))
    return httpx.Response(int(head[0].split()[1]), headers=headers, content=body)


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_comes(fyke: World) -> None:
    async with asyncio.timeout(30), connected(fyke, f"Content-Length: {MAX_BODY + 1}") as (reader, _):
        answer = await answer_of(reader)
        assert problem_of(answer, 413)["code"] == "body_too_large"
        assert answer.headers["connection"] == "close"
        assert await reader.read() == b""


async def test_a_body_that_does_not_say_so_is_refused_when_it_is(fyke: World) -> None:
    """Nobody reads on to the end that it does not have."""
    chunk = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20))
    sent = 0
    async with asyncio.timeout(60), connected(fyke, "Transfer-Encoding: chunked") as (reader, writer):
        reading = asyncio.create_task(answer_of(reader))
        while not reading.done():
            try:
                writer.write(chunk)
                await writer.drain()
            except ConnectionError:
                break
            sent += 1 << 20
            assert sent < 3 * MAX_BODY
        answer = await reading
    assert problem_of(answer, 413)["code"] == "body_too_large"


async def test_a_body_that_stops_coming_holds_nothing_up(fyke: World) -> None:
    async with connected(fyke, "Content-Length: 100") as (_, writer):
        writer.write(b'{"urls"')
        await writer.drain()
        data_of(await fyke.client.get("/api/v1/jobs"))
    # Its connection is closed now: nothing has been made of the half of it.
    assert data_of(await fyke.client.get("/api/v1/jobs")) == []


async def test_a_request_that_is_none_is_answered_and_the_server_goes_on(fyke: World) -> None:
    host, _, port = fyke.server.address.removeprefix("http://").partition(":")
    for noise in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 1000, b"A" * 200_000):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            async with asyncio.timeout(30):
                writer.write(noise)
                writer.write_eof()
                assert b"Traceback" not in await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()
    assert (await fyke.client.get("/health")).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (b"FOO /api/v1/jobs HTTP/1.1\r\nHost: fyke\r\n\r\n", 400, "bad_request"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: fyke\r\n\r\n", 414, "uri_too_long"),
        (b"GET /health HTTP/1.1\r\nHost: fyke\r\n\x00: 1\r\n\r\n", 400, "bad_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400, "bad_request"),
    ],
    ids=["an unknown method", "a long path", "a bad header", "TLS"],
)
async def test_a_request_that_cannot_be_read_is_answered_in_the_envelope(
    fyke: World, request_: bytes, status: int, code: str
) -> None:
    host, _, port = fyke.server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(30):
        writer.write(request_)
        answer = await answer_of(reader)
        assert await reader.read() == b""
    writer.close()
    assert problem_of(answer, status)["code"] == code
    assert answer.headers["connection"] == "close"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_chunks_that_cannot_be_read_are_answered_in_the_envelope(fyke: World) -> None:
    identity = "f6c3b126-c3a0-48c9-a98c-cd488ef359b8"
    more = f"X-Request-ID: {identity}\r\nTransfer-Encoding: chunked"
    async with asyncio.timeout(30), connected(fyke, more) as (reader, writer):
        writer.write(b"5\r\n{}   \r\nnonsense\r\n")
        answer = await answer_of(reader)
        assert await reader.read() == b""
    problem_of(answer, 400)
    assert answer.headers["x-request-id"] == identity
    assert data_of(await fyke.client.get("/api/v1/jobs")) == []


async def test_readers_that_go_away_leave_nothing_behind(fyke: World) -> None:
    """Neither one that follows a job, nor one in the middle of a download."""
    fyke.shop.door.clear()
    job = await fyke.submit(["/p"])
    before = len(asyncio.all_tasks())
    for _ in range(20):
        async with fyke.client.stream("GET", f"/api/v1/jobs/{job}/stream") as answer:
            async for _ in answer.aiter_lines():
                break
    async with asyncio.timeout(30):
        while len(asyncio.all_tasks()) > before + 2:
            await fyke.server.behind.changes.wait(0.05)
    fyke.shop.door.set()
    assert (await fyke.ended(job))["state"] == "failed"


# --- while a crawl runs ---


async def test_the_api_stays_right_while_a_crawl_runs(fyke: World) -> None:
    """Readers, writers and a crawl at once: every answer is right, and what adds up does so at any time."""
    paths = fyke.shop.products(1500)
    job = await fyke.submit(paths)
    seen = []

    async def look() -> None:
        while True:
            shown = await fyke.job(job)
            done = shown["succeeded"] + shown["failed"] + shown["skipped"]
            assert 0 <= done <= shown["total"] <= 1500
            assert not shown["progress"]["planned"] or shown["total"] == 1500
            seen.append(done)
            pages = await fyke.results(job, "pages")
            assert [page["url"] for page in pages] == sorted(
                (page["url"] for page in pages), key=lambda url: int(url.rpartition("/")[2])
            )
            if shown["finished_at"]:
                return

    async def change() -> None:
        for number in range(15):
            fyke.shop.pages["/small"] = product("Small", number)
            small = await fyke.submit(["/small"])
            assert (await fyke.ended(small))["state"] == "succeeded"
            data_of(await fyke.client.delete(f"/api/v1/jobs/{small}"))
            answer = await fyke.client.post("/api/v1/jobs", json={"urls": ["nowhere"]})
            assert answer.status_code == 422

    async with asyncio.timeout(100):
        await asyncio.gather(look(), look(), change())
    assert seen[-1] == 1500
    assert (await fyke.job(job))["state"] == "succeeded"
    assert fyke.shop.hits["/small"] == 15
    assert all(fyke.shop.hits[path] == 1 for path in paths)


async def test_others_are_answered_while_a_long_list_is_taken(fyke: World) -> None:
    fyke.shop.door.clear()
    urls = [fyke.shop.url(f"/{number}?{'x' * 50}") for number in range(50_000)]
    body = json.dumps({"urls": urls, "options": {"max_urls": 0, "exports": []}}).encode()
    headers = {"Content-Type": "application/json"}
    posting = asyncio.create_task(fyke.client.post("/api/v1/jobs", content=body, headers=headers))
    answered = 0
    while not posting.done():
        data_of(await fyke.client.get("/api/v1/keys"))
        answered += 1
    job = data_of(await posting, 201)
    assert answered >= 3
    assert job["source"].startswith("50000 URLs")
    data_of(await fyke.client.delete(f"/api/v1/jobs/{job['id']}"))
