"""The plain client against a server that does everything wrong."""

import asyncio
import re
import tracemalloc
from collections.abc import AsyncIterator
from time import monotonic

import pytest
from msgspec.structs import replace

from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.fetch.options import PAGES, FetchOptions, Limits
from tests.integration.hostile import HTML, HostileServer, Reply, bomb

LIMITS = Limits(
    header_bytes=16 * 1024,
    header_count=100,
    body_bytes=1024 * 1024,
    inflated_bytes=4 * 1024 * 1024,
    redirects=5,
    connect=2,
    first_byte=0.4,
    total=1.0,
)
PATIENT = replace(LIMITS, first_byte=20, total=20)  # for what must end by other limits than time
LATE = 1.0  # seconds beyond its limit in which a fetch must have ended, on a loaded machine
MEMORY = 24 * 1024 * 1024  # bytes, the hostile server's own included; a bomb holds 128 MiB


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


@pytest.mark.parametrize(
    ("path", "error_class"),
    [
        ("/silent", ErrorClass.TIMEOUT),
        ("/slow-loris", ErrorClass.TIMEOUT),
        ("/drip", ErrorClass.TIMEOUT),
        ("/stalled", ErrorClass.TIMEOUT),
        ("/slow-chain", ErrorClass.TOO_MANY_REDIRECTS),
        ("/endless-headers", ErrorClass.HEADERS_TOO_LARGE),
        ("/endless-header", ErrorClass.HEADERS_TOO_LARGE),
        ("/many-headers", ErrorClass.HEADERS_TOO_LARGE),
        ("/endless-hints", ErrorClass.HEADERS_TOO_LARGE),
        ("/endless-body", ErrorClass.BODY_TOO_LARGE),
        ("/endless-chunk-extension", ErrorClass.BODY_TOO_LARGE),
        ("/chunk-extensions", ErrorClass.BODY_TOO_LARGE),
        ("/endless-trailers", ErrorClass.HEADERS_TOO_LARGE),
        ("/endless-trailer", ErrorClass.HEADERS_TOO_LARGE),
        ("/announced-large", ErrorClass.BODY_TOO_LARGE),
        ("/picture", ErrorClass.CONTENT_TYPE),
        ("/bombs?kind=gzip", ErrorClass.INFLATED_TOO_LARGE),
        ("/bombs?kind=deflate", ErrorClass.INFLATED_TOO_LARGE),
        ("/bombs?kind=br", ErrorClass.INFLATED_TOO_LARGE),
        ("/bombs?kind=zstd", ErrorClass.INFLATED_TOO_LARGE),
        ("/bombs?kind=double-gzip", ErrorClass.INFLATED_TOO_LARGE),
        ("/no-gzip", ErrorClass.BAD_ENCODING),
        ("/no-gzip?kind=deflate", ErrorClass.BAD_ENCODING),
        ("/no-gzip?kind=br", ErrorClass.BAD_ENCODING),
        ("/no-gzip?kind=zstd", ErrorClass.BAD_ENCODING),
        ("/no-gzip?kind=gzip,gzip,gzip", ErrorClass.BAD_ENCODING),
        ("/strange-encoding", ErrorClass.BAD_ENCODING),
        ("/half-gzip", ErrorClass.CONNECTION_LOST),
        ("/too-short", ErrorClass.CONNECTION_LOST),
        ("/half-chunk", ErrorClass.CONNECTION_LOST),
        ("/no-answer", ErrorClass.CONNECTION_LOST),
        ("/bad-chunk", ErrorClass.PROTOCOL),
        ("/two-lengths", ErrorClass.PROTOCOL),
        ("/half-head", ErrorClass.CONNECTION_LOST),
        ("/no-colon", ErrorClass.PROTOCOL),
        ("/garbage", ErrorClass.PROTOCOL),
        ("/old-http", ErrorClass.PROTOCOL),
        ("/loop", ErrorClass.TOO_MANY_REDIRECTS),
        ("/ping", ErrorClass.TOO_MANY_REDIRECTS),
        ("/chain?n=6", ErrorClass.TOO_MANY_REDIRECTS),
        ("/to?url=file:///etc/passwd", ErrorClass.INVALID_URL),
        ("/to?url=gopher://127.0.0.1/", ErrorClass.INVALID_URL),
        ("/to?url=http://[nonsense", ErrorClass.INVALID_URL),
    ],
)
async def test_each_misdeed_ends_in_its_own_class(server: HostileServer, path: str, error_class: str) -> None:
    limits = LIMITS if error_class == ErrorClass.TIMEOUT else PATIENT
    client = HttpClient(Guard(["127.0.0.0/8"]), limits)
    await client.start()
    if "kind=" in path and path.startswith("/bombs"):
        bomb(path.partition("kind=")[2])  # made now, so that the memory it takes is not the client's
    tracemalloc.start()
    begun = monotonic()
    failed = await client.fetch(Request(server.url(path)))
    took = monotonic() - begun
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(failed, Failed), failed
    assert failed.error_class == error_class, failed.message
    assert failed.message
    assert not re.search(r"libcurl|memory|[0-9]{5,} milliseconds", failed.message), "not a message for people"
    assert took < limits.total + LATE
    assert peak < MEMORY
    after = await client.fetch(Request(server.url("/ok")))
    assert isinstance(after, Page), "the client is of no use afterwards"
    await client.stop()


@pytest.mark.parametrize("path", ["/endless-chunk-extension", "/chunk-extensions"])
@pytest.mark.parametrize("before", [0, 1], ids=["first of its connection", "on a kept connection"])
async def test_what_is_hidden_around_the_body_is_counted(
    server: HostileServer, path: str, before: int
) -> None:
    client = HttpClient(Guard(["127.0.0.0/8"]), PATIENT)
    await client.start()
    for _ in range(before):
        await client.fetch(Request(server.url("/ok")))
    failed = await client.fetch(Request(server.url(path)))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.BODY_TOO_LARGE
    assert failed.bytes_in > PATIENT.body_bytes * 1.1
    assert server.connections == 1
    cut = await client.fetch(Request(server.url(path)), FetchOptions(truncate=True))
    assert isinstance(cut, Page), "what fits is to be taken"
    assert cut.bytes_in > PATIENT.body_bytes * 1.1
    lost = await _stream(client, server.url(path))
    assert lost.error_class == ErrorClass.BODY_TOO_LARGE
    assert lost.bytes_in > PATIENT.body_bytes * 1.1
    await client.stop()


async def _stream(client: HttpClient, url: str) -> Failed:
    """How a stream ends, at its beginning or later."""
    stream = await client.stream(Request(url), FetchOptions())
    if isinstance(stream, Failed):
        return stream
    async with stream:
        async for _ in stream:
            pass
    assert stream.failed is not None
    return stream.failed


@pytest.mark.parametrize(
    "path",
    [
        "/ok",
        "/too-long",
        "/strange-headers",
        "/hints",
        "/trailers",
        "/large-redirect",
        "/cookie-wall",
        "/chain?n=5",
        "/to?url=/ok",
        "/to?url=ok%23part",
        *(
            f"/encoded?kind={kind}"
            for kind in (
                "gzip",
                "deflate",
                "raw-deflate",
                "br",
                "zstd",
                "two-members",
                "padded",
                "gzip,%20br",
                "identity",
            )
        ),
    ],
)
async def test_what_a_browser_would_show_is_a_page(
    server: HostileServer, client: HttpClient, path: str
) -> None:
    page = await client.fetch(Request(server.url(path)))
    assert isinstance(page, Page), page
    assert (page.status, page.body) == (200, HTML)
    assert page.address == "127.0.0.1"
    assert page.bytes_in > 50


async def test_the_time_limit_holds_for_all_hops_together(server: HostileServer) -> None:
    client = HttpClient(Guard(["127.0.0.0/8"]), Limits(redirects=1000, total=0.5))
    await client.start()
    begun = monotonic()
    failed = await client.fetch(Request(server.url("/slow-chain")))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.TIMEOUT
    assert 0.4 < monotonic() - begun < 0.5 + LATE
    await client.stop()


async def test_the_history_and_the_bytes_of_all_hops_are_kept(
    server: HostileServer, client: HttpClient
) -> None:
    alone = await client.fetch(Request(server.url("/chain?n=0")))
    page = await client.fetch(Request(server.url("/chain?n=2")))
    assert isinstance(page, Page)
    assert isinstance(alone, Page)
    assert page.history == (server.url("/chain?n=2"), server.url("/chain?n=1"))
    assert (page.url, page.final_url) == (server.url("/chain?n=2"), server.url("/chain?n=0"))
    assert page.bytes_in > alone.bytes_in + 100


async def test_a_hop_can_be_left_to_the_caller(server: HostileServer, client: HttpClient) -> None:
    seen: list[tuple[str, str]] = []

    def may_follow(source: str, target: str) -> bool:
        seen.append((source, target))
        return "elsewhere" not in target

    options = FetchOptions(may_follow=may_follow)
    page = await client.fetch(Request(server.url("/to?url=http://elsewhere.test/")), options)
    assert isinstance(page, Page)
    assert page.status == 302
    assert page.header("location") == "http://elsewhere.test/"
    assert page.body == b""
    assert seen == [(server.url("/to?url=http://elsewhere.test/"), "http://elsewhere.test/")]
    assert isinstance(await client.fetch(Request(server.url("/chain?n=1")), options), Page)


async def test_what_is_not_modified_costs_no_body(server: HostileServer, client: HttpClient) -> None:
    first = await client.fetch(Request(server.url("/etag")))
    assert isinstance(first, Page)
    again = await client.fetch(
        Request(server.url("/etag"), etag=first.header("etag"), last_modified=first.header("last-modified"))
    )
    assert isinstance(again, Page)
    assert (again.status, again.body) == (304, b"")
    assert again.bytes_in < first.bytes_in
    assert "if-modified-since" in server.asked[-1].headers
    plain = await client.fetch(Request(server.url("/etag")))
    assert isinstance(plain, Page)
    assert plain.status == 200, "a validator was sent with another request"


async def test_cookies_do_not_outlive_their_request(server: HostileServer, client: HttpClient) -> None:
    for _ in range(2):
        page = await client.fetch(Request(server.url("/cookie-wall")))
        assert isinstance(page, Page)
        assert page.status == 200
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, "seen=yes", None, "seen=yes"]


async def test_the_final_url_is_canonical(server: HostileServer, client: HttpClient) -> None:
    url = server.url("/a/../ok#part").replace("http:", "HTTP:")
    page = await client.fetch(Request(url))
    assert isinstance(page, Page)
    assert (page.url, page.final_url, page.history) == (url, server.url("/ok"), ())


async def test_a_message_tells_no_query(server: HostileServer, client: HttpClient) -> None:
    async def on(reply: Reply) -> None:
        await reply.redirect(reply.asked.path + "?token=secret")

    server.extra = {"/around": on}
    for path in ("/around", "/to?url=mailto:me?token=secret"):
        failed = await client.fetch(Request(server.url(path)))
        assert isinstance(failed, Failed)
        assert "secret" not in failed.message


@pytest.mark.parametrize(
    ("target", "error_class"),
    [
        ("ftp://bob:SEKRIT8@host.test/", ErrorClass.INVALID_URL),
        ("ftp://bob:SEK?RIT8@host.test/", ErrorClass.INVALID_URL),
        ("http://bob:SEKRIT8@127.0.0.1:1/", ErrorClass.REFUSED),
        ("//bob:SEKRIT8@127.0.0.1:1/", ErrorClass.REFUSED),
        (r"http:\\bob:SEKRIT8@127.0.0.1:1", ErrorClass.REFUSED),
        ("http://[bob:SEKRIT8@x", ErrorClass.REFUSED),
    ],
)
async def test_a_failure_tells_no_password(
    server: HostileServer, client: HttpClient, target: str, error_class: str
) -> None:
    async def on(reply: Reply) -> None:
        await reply.redirect(target)

    server.extra = {"/away": on}
    failed = await client.fetch(Request(server.url("/away")))
    assert isinstance(failed, Failed)
    assert failed.error_class == error_class
    assert "SEK" not in repr(failed)


async def test_connections_are_kept_open(server: HostileServer, client: HttpClient) -> None:
    for _ in range(10):
        await client.fetch(Request(server.url("/ok")))
    assert server.connections == 1


async def test_a_connection_that_was_closed_meanwhile_is_opened_again(
    server: HostileServer, client: HttpClient
) -> None:
    for _ in range(30):
        page = await client.fetch(Request(server.url("/close-after")))
        assert isinstance(page, Page), page
    pages = await asyncio.gather(*(client.fetch(Request(server.url("/close-after"))) for _ in range(60)))
    assert all(isinstance(page, Page) for page in pages)


async def test_the_headers_are_those_asked_for(server: HostileServer) -> None:
    client = HttpClient(Guard(["127.0.0.0/8"]), user_agent="Fyke/1 (+https://example.com)")
    await client.start()
    await client.fetch(Request(server.url("/ok")))
    await client.fetch(
        Request(server.url("/ok")), FetchOptions(user_agent="Other\r\nX-Evil: 1", accept="a/b")
    )
    first, second = (asked.headers for asked in server.asked)
    assert first["user-agent"] == "Fyke/1 (+https://example.com)"
    assert first["accept"] == PAGES.accept
    assert first["accept-encoding"] == "gzip, deflate, br, zstd"
    assert second["user-agent"] == "OtherX-Evil: 1"
    assert second["accept"] == "a/b"
    assert "x-evil" not in second
    await client.stop()


async def test_a_retry_after_is_told_with_a_failure_too(server: HostileServer, client: HttpClient) -> None:
    page = await client.fetch(Request(server.url("/status?code=429&retry=7")))
    assert isinstance(page, Page)
    assert (page.status, page.header("retry-after")) == (429, "7")
    options = FetchOptions(max_bytes=10)
    failed = await client.fetch(Request(server.url("/status?code=503&retry=9")), options)
    assert isinstance(failed, Failed)
    assert (failed.status, failed.retry_after) == (503, 9.0)


async def test_a_body_may_be_cut_instead_of_refused(server: HostileServer, client: HttpClient) -> None:
    options = FetchOptions(max_bytes=1000, max_inflated=5000, truncate=True)
    page = await client.fetch(Request(server.url("/endless-body")), options)
    assert isinstance(page, Page)
    assert page.body == b"a" * 1000
    failed = await client.fetch(Request(server.url("/endless-body"), max_bytes=64 * 1024))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.BODY_TOO_LARGE
    page = await client.fetch(
        Request(server.url("/bombs?kind=zstd")), FetchOptions(max_inflated=5000, truncate=True)
    )
    assert isinstance(page, Page)
    assert page.body == bytes(5000)


async def test_a_fetch_that_is_cancelled_leaves_a_working_client(
    server: HostileServer, client: HttpClient
) -> None:
    tasks = [asyncio.create_task(client.fetch(Request(server.url("/drip")))) for _ in range(5)]
    await server.has_seen("/drip", 5)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert isinstance(await client.fetch(Request(server.url("/ok"))), Page)


@pytest.mark.parametrize(("once", "most"), [(True, 1), (False, 2)])
async def test_what_gets_no_answer_on_a_kept_connection_is_not_asked_for_at_any_rate(
    server: HostileServer, once: bool, most: int
) -> None:
    """libcurl would ask again at once, up to five times."""
    client = HttpClient(Guard(["127.0.0.0/8"]), Limits())
    await client.start()
    ok = Request(server.url("/ok"))
    await asyncio.gather(*(client.fetch(ok) for _ in range(6)))  # connections to be kept
    failed = await client.fetch(Request(server.url("/no-answer")), replace(PAGES, once=once))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.CONNECTION_LOST
    assert server.requests["/no-answer"] == most
    assert isinstance(await client.fetch(ok), Page)
    await client.stop()


async def test_stopping_ends_what_runs_and_twice_is_safe(server: HostileServer) -> None:
    client = HttpClient(Guard(["127.0.0.0/8"]), Limits())
    await client.start()
    task = asyncio.create_task(client.fetch(Request(server.url("/drip"))))
    await server.has_seen("/drip")
    await client.stop()
    await client.stop()
    failed = await task
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.CONNECTION_LOST
    with pytest.raises(RuntimeError, match="not started"):
        await client.fetch(Request(server.url("/ok")))


async def test_many_at_once_do_not_disturb_one_another(server: HostileServer) -> None:
    client = HttpClient(Guard(["127.0.0.0/8"]))
    await client.start()
    good = ["/ok", "/encoded?kind=br", "/chain?n=3"]
    paths = [*good, "/loop", "/no-answer", "/half-gzip", "/picture", "/garbage"]
    results = await asyncio.gather(*(client.fetch(Request(server.url(paths[n % 8]))) for n in range(160)))
    for index, result in enumerate(results):
        assert isinstance(result, Page) == (paths[index % 8] in good), result
        assert result.url == server.url(paths[index % 8])
    await client.stop()


def test_it_runs_on_uvloop_as_well() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        async with HostileServer() as server:
            client = HttpClient(Guard(["127.0.0.0/8"]), LIMITS)
            await client.start()
            results = await asyncio.gather(
                *(client.fetch(Request(server.url(path))) for path in ("/ok", "/drip", "/half-chunk") * 20)
            )
            for page, slow, lost in zip(*[iter(results)] * 3, strict=True):
                assert isinstance(page, Page)
                assert isinstance(slow, Failed)
                assert slow.error_class == ErrorClass.TIMEOUT
                assert isinstance(lost, Failed)
            await client.stop()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
