"""The proxy that chaos tests put between Fyke and its servers does what it says."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.proxy import Proxy, through


@pytest.fixture
async def echo() -> AsyncIterator[int]:
    """The port of a server that sends back what it gets."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield int(server.sockets[0].getsockname()[1])
    server.close()
    await server.wait_closed()


async def test_carries_both_ways_until_both_have_ended(echo: int) -> None:
    async with Proxy(echo) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        sent = b"0123456789" * 50_000
        writer.write(sent)
        writer.write_eof()
        assert await reader.read(-1) == sent
        assert proxy.carried == 2 * len(sent)
        writer.close()
        await writer.wait_closed()


async def test_pause_holds_back_and_resume_delivers(echo: int) -> None:
    async with Proxy(echo) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        proxy.pause()
        writer.write(b"two")
        waiting = asyncio.ensure_future(reader.readexactly(3))
        assert not (await asyncio.wait([waiting], timeout=0.1))[0]
        proxy.resume()
        assert await waiting == b"two"
        writer.close()
        await writer.wait_closed()


async def test_delay_holds_back_each_way(echo: int) -> None:
    async with Proxy(echo, delay=0.1) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        started = asyncio.get_running_loop().time()
        writer.write(b"slow")
        assert await reader.readexactly(4) == b"slow"
        assert asyncio.get_running_loop().time() - started >= 0.19
        writer.close()
        await writer.wait_closed()


async def test_cut_breaks_what_is_open_and_refuses_what_comes(echo: int) -> None:
    async with Proxy(echo) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        await reader.readexactly(3)
        proxy.cut()
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
        reader, second = await asyncio.open_connection("127.0.0.1", proxy.port)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        second.close()
        proxy.mend()
        reader, third = await asyncio.open_connection("127.0.0.1", proxy.port)
        third.write(b"two")
        assert await reader.readexactly(3) == b"two"
        assert proxy.accepted == 3
        third.close()
        await third.wait_closed()


async def test_a_database_can_be_reached_through_it(postgres_url: str) -> None:
    port = int(postgres_url.rpartition(":")[2].partition("/")[0])
    async with Proxy(port) as proxy:
        connection = await asyncpg.connect(through(postgres_url, proxy.port))
        assert await connection.fetchval("SELECT 6 * 7") == 42
        proxy.break_connections()
        with pytest.raises((asyncpg.PostgresConnectionError, OSError)):
            await connection.fetchval("SELECT 6 * 7")
        await connection.close()
