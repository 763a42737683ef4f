"""robots.txt over real connections: redirects, size, compression, failures."""

import gzip
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.fetch.options import Limits
from fyke.politeness.robots import Robots
from fyke.politeness.rules import SIZE_LIMIT
from fyke.wiring import ROBOTS
from tests.integration.hostile import PAGES, HostileServer, Reply
from tests.integration.hostile import Page as ServerPage

FILE = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    async with HostileServer() as server:
        yield server


@pytest.fixture
async def robots() -> AsyncIterator[Robots]:
    client = HttpClient(Guard(["127.0.0.0/8"]), Limits(first_byte=0.5))
    options = replace(ROBOTS, timeout=1)
    await client.start()

    async def fetch(request: Request) -> Page | Failed:
        return await client.fetch(request, options)

    robots = Robots(fetch, "Fyke")
    yield robots
    await robots.stop()
    await client.stop()


async def plain(reply: Reply) -> None:
    await reply.whole(FILE, kind="text/plain")


async def zipped(reply: Reply) -> None:
    await reply.whole(gzip.compress(FILE), "Content-Encoding: gzip", kind="application/octet-stream")


async def moved(reply: Reply) -> None:
    await reply.redirect("/elsewhere/robots.txt")


async def large(reply: Reply) -> None:
    await reply.whole(FILE + b"# much more\n" * 100_000 + b"Disallow: /\n", kind="text/plain")


async def endless(reply: Reply) -> None:
    await reply.head("Content-Type: text/plain", "Transfer-Encoding: chunked")
    await reply.raw(b"%x\r\n%s\r\n" % (len(FILE), FILE))
    while True:
        await reply.raw(b"10000\r\n" + b"#" * 65536 + b"\r\n")


@pytest.mark.parametrize("page", [plain, zipped, moved, large, endless])
async def test_the_file_is_read_in_whatever_form_it_comes(
    server: HostileServer, robots: Robots, page: ServerPage
) -> None:
    server.extra = {"/robots.txt": page, "/elsewhere/robots.txt": plain}
    answer = await robots.allowed(server.url("/lamp"))
    assert answer.allowed
    assert answer.crawl_delay == 3
    assert answer.fetched_now is not None
    assert answer.fetched_now.body.startswith(FILE)
    assert len(answer.fetched_now.body) <= SIZE_LIMIT
    assert not (await robots.allowed(server.url("/private/lamp"))).allowed


async def test_one_that_is_not_there_allows(server: HostileServer, robots: Robots) -> None:
    assert (await robots.allowed(server.url("/private/lamp"))).allowed
    assert server.requests["/robots.txt"] == 1
    assert (await robots.allowed(server.url("/lamp"))).allowed
    assert server.requests["/robots.txt"] == 1


@pytest.mark.parametrize("path", ["/silent", "/no-answer", "/drip", "/garbage"])
async def test_one_that_does_not_come_forbids(server: HostileServer, robots: Robots, path: str) -> None:
    server.extra = {"/robots.txt": PAGES[path]}
    answer = await robots.allowed(server.url("/lamp"))
    assert not answer.allowed
    assert answer.error_class in (ErrorClass.TIMEOUT, ErrorClass.CONNECTION_LOST, ErrorClass.PROTOCOL)
    assert "robots.txt" in answer.reason


async def test_redirects_without_end_allow(server: HostileServer, robots: Robots) -> None:
    async def on(reply: Reply) -> None:
        await reply.redirect(f"/robots.txt?{len(server.asked)}")

    server.extra = {"/robots.txt": on}
    assert (await robots.allowed(server.url("/lamp"))).allowed
    assert server.requests["/robots.txt"] == 6
