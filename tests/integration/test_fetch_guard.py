"""The guard in the client: whatever way an address comes by, it is judged where the connection is made."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.egress.guard import Guard
from fyke.fetch.client import HttpClient
from fyke.fetch.options import FetchOptions, Limits
from tests.integration.hostile import HostileServer

LIMITS = Limits(connect=2, first_byte=2, total=3)


class Names:
    """A resolver under the test's control: each look-up of a name gives its next answer, then the last."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answers = self.answers.get(host, [[]])
        return answers.pop(0) if len(answers) > 1 else answers[0]


@pytest.fixture
async def server() -> AsyncIterator[HostileServer]:
    async with HostileServer() as server:
        yield server


async def fetch(guard: Guard, url: str) -> Page | Failed:
    client = HttpClient(guard, LIMITS)
    await client.start()
    try:
        return await client.fetch(Request(url))
    finally:
        await client.stop()


async def test_loopback_needs_to_be_allowed(server: HostileServer) -> None:
    refused = await fetch(Guard(), server.url("/ok"))
    assert isinstance(refused, Failed)
    assert refused.error_class == ErrorClass.REFUSED
    assert isinstance(await fetch(Guard(["127.0.0.0/8"]), server.url("/ok")), Page)
    assert isinstance(await fetch(Guard(["127.0.0.1"]), server.url("/ok")), Page)
    assert server.requests["/ok"] == 2


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["192.168.1.1", "10.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1"],
        ["fd00::1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["0.0.0.0"],
        ["100.64.0.1"],
    ],
)
async def test_a_name_that_resolves_to_an_inner_address_is_refused_at_the_connection(
    server: HostileServer, addresses: list[str]
) -> None:
    guard = Guard(resolver=Names(shop_test=[addresses]))
    failed = await fetch(guard, server.url("/ok", host="shop.test"))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.REFUSED, failed.message
    assert server.connections == 0


async def test_an_allowed_host_may_resolve_to_anything(server: HostileServer) -> None:
    names = Names(shop_test=[["127.0.0.1"]], other_test=[["127.0.0.1"]])
    assert isinstance(await fetch(Guard(["shop.test"], names), server.url("/ok", host="shop.test")), Page)
    failed = await fetch(Guard(["shop.test"], names), server.url("/ok", host="other.test"))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.REFUSED


async def test_of_several_addresses_only_those_allowed_are_connected_to(server: HostileServer) -> None:
    names = Names(shop_test=[["10.0.0.1", "127.0.0.1"]], inner_test=[["10.0.0.1", "127.0.0.1"]])
    guard = Guard(["127.0.0.0/8"], names)
    page = await fetch(guard, server.url("/ok", host="shop.test"))
    assert isinstance(page, Page)
    assert page.address == "127.0.0.1"
    said = await guard.explain(server.url("/ok", host="shop.test"))
    assert (said.allowed, said.reason) == (
        True,
        "allowed, but never at 10.0.0.1, which is a private network",
    )
    said = await Guard(resolver=names).explain(server.url("/ok", host="inner.test"))
    assert (said.allowed, said.reason) == (
        False,
        "inner.test has the address 10.0.0.1, which is a private network",
    )


async def test_a_name_that_changes_between_look_ups_gains_nothing(server: HostileServer) -> None:
    """DNS rebinding: judged as global first, and then it is loopback."""
    names = Names(shop_test=[["203.0.112.1"], ["127.0.0.1"]])
    guard = Guard(resolver=names)
    url = server.url("/ok", host="shop.test")
    assert (await guard.explain(url)).allowed
    failed = await fetch(guard, url)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.REFUSED
    assert server.connections == 0


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://localhost/",
        "http://sub.localhost/",
        "http://inner.test/",
        "http://user:password@example.com/",
        "http://example.com@10.0.0.1/",
        "http:\\\\10.0.0.1\\",
        "//10.0.0.1/",
    ],
)
async def test_a_redirect_is_judged_like_a_url(server: HostileServer, target: str) -> None:
    names = Names(start_test=[["127.0.0.1"]], inner_test=[["10.0.0.1"]])
    guard = Guard(["start.test"], names)
    client = HttpClient(guard, LIMITS)
    await client.start()
    url = server.url("/to?url=" + target.replace("%", "%25"), host="start.test")
    failed = await client.fetch(Request(url))
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.REFUSED, failed.message
    streamed = await client.stream(Request(url), FetchOptions())
    assert isinstance(streamed, Failed)
    assert streamed.error_class == ErrorClass.REFUSED
    await client.stop()


async def test_a_name_without_an_address_fails_by_dns() -> None:
    failed = await fetch(Guard(resolver=Names()), "http://nowhere.test/")
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.DNS


async def test_a_closed_port_fails_by_connect(server: HostileServer) -> None:
    gone = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    port = gone.sockets[0].getsockname()[1]
    gone.close()
    await gone.wait_closed()
    failed = await fetch(Guard(["127.0.0.0/8"]), f"http://127.0.0.1:{port}/")
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.CONNECT


async def test_plain_text_where_tls_is_expected_fails_by_tls() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    plain = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = plain.sockets[0].getsockname()[1]
    failed = await fetch(Guard(["127.0.0.0/8"]), f"https://127.0.0.1:{port}/")
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.TLS
    plain.close()
    await plain.wait_closed()


async def test_a_proxy_in_the_environment_is_not_used(
    server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, server.url(""))
    failed = await fetch(Guard(["127.0.0.0/8"], Names()), "http://nowhere.test/")
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.DNS
    assert server.connections == 0


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "http://a b/", "http://x" + "y" * 9000])
async def test_what_is_no_url_is_a_failure_not_an_error(url: str) -> None:
    failed = await fetch(Guard(), url)
    assert isinstance(failed, Failed)
    assert failed.error_class == ErrorClass.INVALID_URL


async def test_explain_names_the_address() -> None:
    guard = Guard(
        ["10.1.0.0/16"], Names(a_test=[["8.8.8.8"]], b_test=[["10.2.0.1", "10.3.0.1"]], c_test=[["10.1.2.3"]])
    )
    assert (await guard.explain("http://a.test/")).addresses == ("8.8.8.8",)
    refused = await guard.explain("http://b.test/")
    assert not refused.allowed
    assert "10.2.0.1" in refused.reason
    assert (await guard.explain("http://c.test/")).allowed
    unknown = await guard.explain("http://d.test/")
    assert unknown.allowed
    assert "no address" in unknown.reason
    assert not (await guard.explain("http://10.2.0.1/")).allowed
