"""Bodies read piece by piece: any size in constant memory, with the same limits."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.fetch.options import PAGES, FetchOptions, Limits
from fyke.fetch.stream import Stream
from fyke.jobs.sitemap_fetch import SITEMAPS
from tests.integration.hostile import BOMB, HTML, HostileServer, Reply, bomb

LIMITS = Limits(connect=2, first_byte=0.4, total=1)
MIB = 1024 * 1024


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    async with HostileServer() as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    client = HttpClient(Guard(["127.0.0.0/8"]), LIMITS)
    await client.start()
    yield client
    await client.stop()


async def read(client: HttpClient, url: str, options: FetchOptions = SITEMAPS) -> tuple[bytes, Failed | None]:
    stream = await client.stream(Request(url), options)
    if isinstance(stream, Failed):
        return b"", stream
    async with stream:
        return b"".join([piece async for piece in stream]), stream.failed


@pytest.mark.parametrize(
    "path", ["/ok", "/encoded?kind=gzip", "/encoded?kind=gzip,%20br", "/chain?n=3", "/trailers"]
)
async def test_it_gives_the_same_body_as_a_fetch(
    server: HostileServer, client: HttpClient, path: str
) -> None:
    assert await read(client, server.url(path)) == (HTML, None)


async def test_status_headers_and_history_are_there_before_the_body(
    server: HostileServer, client: HttpClient
) -> None:
    stream = await client.stream(Request(server.url("/to?url=/status%3Fcode%3D404")), SITEMAPS)
    assert isinstance(stream, Stream)
    async with stream:
        assert stream.status == 404
        assert ("content-type", "text/html") in stream.headers
        assert stream.final_url == server.url("/status?code=404")
        assert len(stream.history) == 1
        assert [piece async for piece in stream] == [HTML]
        page = await client.fetch(Request(server.url("/to?url=/status%3Fcode%3D404")))
        assert isinstance(page, Page)
        assert stream.bytes_in == page.bytes_in


async def test_a_large_body_takes_no_more_memory_than_a_small_one(
    server: HostileServer, client: HttpClient
) -> None:
    bomb("gzip")
    tracemalloc.start()
    stream = await client.stream(Request(server.url("/bombs?kind=gzip")), SITEMAPS)
    assert isinstance(stream, Stream)
    size = 0
    async with stream:
        async for piece in stream:
            size += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (size, stream.failed) == (BOMB, None)
    assert peak < 8 * MIB


async def test_who_reads_slowly_holds_the_server_back(server: HostileServer, client: HttpClient) -> None:
    sent = 0

    async def endless(reply: Reply) -> None:
        nonlocal sent
        await reply.head("Content-Type: text/xml")
        while True:
            await reply.raw(bytes(MIB))
            sent += 1

    server.extra = {"/endless": endless}
    stream = await client.stream(Request(server.url("/endless")), SITEMAPS)
    assert isinstance(stream, Stream)
    async with stream:
        before = -1
        while sent > before:  # until the sender stands still: all buffers on the way are full
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 20
        received, wanted = 0, (sent + 2) * MIB
        async for piece in stream:
            received += len(piece)
            if received > wanted:
                break
        assert sent > before


@pytest.mark.parametrize(
    ("path", "options", "error_class"),
    [
        ("/endless-body", FetchOptions(max_bytes=MIB), ErrorClass.BODY_TOO_LARGE),
        ("/endless-body", FetchOptions(max_bytes=MIB + 12345), ErrorClass.BODY_TOO_LARGE),
        ("/endless-body", FetchOptions(max_bytes=2 * MIB, max_inflated=MIB), ErrorClass.INFLATED_TOO_LARGE),
        ("/announced-large", FetchOptions(max_bytes=MIB), ErrorClass.BODY_TOO_LARGE),
        ("/bombs?kind=zstd", FetchOptions(max_inflated=MIB), ErrorClass.INFLATED_TOO_LARGE),
        ("/bombs?kind=br", FetchOptions(max_inflated=MIB), ErrorClass.INFLATED_TOO_LARGE),
        ("/no-gzip", SITEMAPS, ErrorClass.BAD_ENCODING),
        ("/strange-encoding", SITEMAPS, ErrorClass.BAD_ENCODING),
        ("/half-gzip", SITEMAPS, ErrorClass.CONNECTION_LOST),
        ("/half-chunk", SITEMAPS, ErrorClass.CONNECTION_LOST),
        ("/too-short", SITEMAPS, ErrorClass.CONNECTION_LOST),
        ("/silent", FetchOptions(timeout=5), ErrorClass.TIMEOUT),
        ("/drip", FetchOptions(timeout=0.5), ErrorClass.TIMEOUT),
        ("/stalled", FetchOptions(timeout=0.5), ErrorClass.TIMEOUT),
        ("/endless-headers", SITEMAPS, ErrorClass.HEADERS_TOO_LARGE),
        ("/garbage", SITEMAPS, ErrorClass.PROTOCOL),
        ("/no-answer", SITEMAPS, ErrorClass.CONNECTION_LOST),
        ("/picture", PAGES, ErrorClass.CONTENT_TYPE),
        ("/loop", SITEMAPS, ErrorClass.TOO_MANY_REDIRECTS),
        ("/chain?n=6", FetchOptions(redirects=5), ErrorClass.TOO_MANY_REDIRECTS),
    ],
)
async def test_the_limits_hold(
    server: HostileServer, client: HttpClient, path: str, options: FetchOptions, error_class: str
) -> None:
    _, failed = await read(client, server.url(path), options)
    assert failed is not None
    assert failed.error_class == error_class, failed.message
    assert await read(client, server.url("/ok")) == (HTML, None)


async def test_a_limit_that_is_reached_while_the_server_is_held_back_holds(
    server: HostileServer, client: HttpClient
) -> None:
    for limit in range(300_000, 600_000, 20_000):
        stream = await client.stream(Request(server.url("/endless-body")), FetchOptions(max_bytes=limit))
        assert isinstance(stream, Stream)
        async with stream:
            await asyncio.sleep(0.02)  # time enough for all buffers to fill
            size = sum([len(piece) async for piece in stream])
        assert size <= limit
        assert stream.failed is not None
        assert stream.failed.error_class == ErrorClass.BODY_TOO_LARGE


async def test_a_stream_given_up_leaves_a_working_client(server: HostileServer, client: HttpClient) -> None:
    for path in ("/endless-body", "/drip", "/ok") * 3:
        stream = await client.stream(Request(server.url(path)), SITEMAPS)
        assert isinstance(stream, Stream)
        stream.close()
        stream.close()
        assert [piece async for piece in stream] == []
    assert isinstance(await client.fetch(Request(server.url("/ok"))), Page)


async def test_stopping_the_client_ends_a_stream(server: HostileServer, client: HttpClient) -> None:
    stream = await client.stream(Request(server.url("/drip")), SITEMAPS)
    assert isinstance(stream, Stream)
    await client.stop()
    assert b"".join([piece async for piece in stream]).strip(b"a") == b""
    assert stream.failed is not None
    assert stream.failed.error_class == ErrorClass.CONNECTION_LOST
    stream.close()
