"""A database that does not answer any more: whoever gives up does so at once, and a process can end."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from fyke.core.clock import monotonic
from fyke.core.errors import StoreBusy
from fyke.store import retry
from fyke.store.conn import Conn
from fyke.store.open import database_for
from tests.proxy import Proxy, port_of, through

SOON = 5.0  # seconds


@pytest.fixture(params=["postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    name = {"postgres": "postgres_url", "mariadb": "mysql_url"}[request.param]
    return str(request.getfixturevalue(name))


async def ask(conn: Conn) -> int:
    return await conn.now()


async def ask_twice(conn: Conn) -> int:
    await conn.now()
    await asyncio.sleep(0.2)  # meanwhile it stops answering
    return await conn.now()


@pytest.mark.parametrize("work", [ask, ask_twice])
async def test_what_is_given_up_waits_for_no_farewell(
    url: str, work: Callable[[Conn], Awaitable[int]]
) -> None:
    async with Proxy(port_of(url)) as proxy:
        database = database_for(through(url, proxy.port))
        await database.open()
        assert await database.read(ask)
        if work is ask:
            proxy.pause()
        asking = [asyncio.create_task(database.write(work)) for _ in range(3)]
        await asyncio.sleep(0.1)
        proxy.pause()
        await asyncio.sleep(0.2)
        began = monotonic()
        for task in asking:
            task.cancel()
        answers = await asyncio.gather(*asking, return_exceptions=True)
        await database.close()
        assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)
        assert monotonic() - began < SOON


async def test_attempts_end_with_the_patience_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "PATIENCE", 0.05)
    tries = []

    async def attempt() -> None:
        tries.append(1)
        await asyncio.sleep(0.03)
        raise retry.Again from TimeoutError()

    with pytest.raises(StoreBusy, match="did not answer: TimeoutError"):
        await retry.retrying(attempt)
    assert 1 <= len(tries) <= 3
