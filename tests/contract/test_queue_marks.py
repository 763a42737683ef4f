"""Low-water marks: claims do not walk over what has been done already, even while the database cannot
clear it away because somebody still looks at an old state of it."""

import asyncio
import json

import pytest

from fyke.store.conn import Conn
from fyke.store.queue.add import lane_of
from fyke.store.queue.claim import LOWEST, READY_TASKS
from tests.contract.rig import HOUR, Rig, pages, site


async def test_the_mark_follows_the_claims(rig: Rig) -> None:
    await rig.job(pages(300))
    for end in (99, 199, 249):
        await rig.finish(await rig.claim(50 if end == 249 else 100))
        assert await rig.value("SELECT low FROM queues") == end
    await rig.check()


async def test_dead_entries_are_not_walked(rig: Rig) -> None:
    if rig.database.name != "postgres":
        pytest.skip("only PostgreSQL tells how much of an index a statement touched")
    amount = 6000
    job = await rig.job(pages(amount))
    await rig.execute("UPDATE leases SET until = until + $1", HOUR)
    looked, go = asyncio.Event(), asyncio.Event()

    async def hold(conn: Conn) -> None:
        await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await conn.fetch("SELECT count(*) FROM jobs")
        looked.set()
        await go.wait()

    holding = asyncio.create_task(rig.database.read(hold))
    await looked.wait()
    while (await rig.value("SELECT count(*) FROM tasks WHERE job = $1", job)) > 100:
        await rig.finish(await rig.claim(500))
    low = await rig.value("SELECT low FROM queues WHERE job = $1", job)

    async def touched(conn: Conn, start: int) -> int:
        for other in ("seqscan", "bitmapscan", "sort"):  # what matters here is the index, in its order
            await conn.execute(f"SET LOCAL enable_{other} = off")
        sql = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + READY_TASKS + " LIMIT 10"
        plan = json.loads((await conn.fetch(sql, lane_of(site()), job, start))[0][0])[0]["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    await rig.database.read(lambda conn: touched(conn, low))  # what is looked up the first time is not meant
    from_mark = await rig.database.read(lambda conn: touched(conn, low))
    from_start = await rig.database.read(lambda conn: touched(conn, LOWEST))
    go.set()
    await holding
    # How many blocks there are to walk over depends on what stood in the index before.
    assert from_start > 100, "there was something to walk over"
    assert from_mark < from_start / 10
