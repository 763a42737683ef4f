"""A network that carries nothing any more: whoever asks MySQL is told within the time limits."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from fyke.core.errors import StoreBusy
from fyke.store import retry
from fyke.store.conn import Conn
from fyke.store.mysql import MysqlDatabase
from tests.proxy import Proxy, port_of, through

HANGS = 20.0  # seconds: nothing here should take a tenth of it
LARGE = 30_000_000  # bytes: more than what sockets on the way take in


async def ask(conn: Conn) -> int:
    return await conn.now()


async def send(conn: Conn) -> int:
    return int((await conn.fetch("SELECT LENGTH($1)", b"x" * LARGE))[0][0])


@pytest.mark.parametrize("work", [ask, send])
async def test_a_command_that_is_not_answered_is_given_up(
    mysql_url: str, work: Callable[[Conn], Awaitable[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "ATTEMPTS", 2)
    async with Proxy(port_of(mysql_url)) as proxy:
        database = MysqlDatabase(through(mysql_url, proxy.port), 2, longest_command=0.5, longest_connect=0.5)
        await database.open()
        try:
            async with asyncio.timeout(HANGS):
                assert await database.read(ask)
                proxy.pause()
                with pytest.raises(StoreBusy):
                    await database.read(work)
                proxy.resume()
                assert await database.read(ask)
        finally:
            async with asyncio.timeout(HANGS):
                await database.close()


async def test_a_connection_that_is_not_free_is_not_waited_for_for_ever(
    mysql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "ATTEMPTS", 2)
    database = MysqlDatabase(mysql_url, 1, longest_connect=0.3)
    await database.open()
    held, let_go = asyncio.Event(), asyncio.Event()

    async def hold(_conn: Conn) -> None:
        held.set()
        await let_go.wait()

    holding = asyncio.create_task(database.read(hold))
    try:
        async with asyncio.timeout(HANGS):
            await held.wait()
            with pytest.raises(StoreBusy):
                await database.read(ask)
            let_go.set()
            await holding
            assert await database.read(ask)
    finally:
        holding.cancel()
        with suppress(asyncio.CancelledError):
            await holding
        await database.close()


async def test_a_server_that_takes_connections_and_says_nothing(
    mysql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "ATTEMPTS", 2)
    async with Proxy(port_of(mysql_url)) as proxy:
        proxy.pause()
        database = MysqlDatabase(through(mysql_url, proxy.port), 2, longest_connect=0.3)
        async with asyncio.timeout(HANGS):
            with pytest.raises(StoreBusy):
                await database.open()
