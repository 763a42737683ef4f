"""What is kept of robots.txt files is handed to a process that starts, up to a size."""

import pytest

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.outcome import SaveRobots
from fyke.store.conn import Conn
from fyke.store.robots import stored_robots
from tests.contract.rig import Rig


@pytest.mark.parametrize(
    ("most", "expected"), [(10_000, [0, 1, 2, 3]), (250, [2, 3]), (200, [2, 3]), (99, []), (0, [])]
)
async def test_the_freshest_that_have_room_come_the_oldest_first(
    rig: Rig, most: int, expected: list[int]
) -> None:
    now = clock.now()
    rows = [
        SaveRobots(f"https://h{n}.test", "rules", b"#" * 100, now + n, now + 3600 * SECOND) for n in range(4)
    ]
    old = SaveRobots("https://old.test", "rules", b"#", now, now - SECOND)

    async def write(conn: Conn) -> None:
        columns = ("origin_key", "origin", "verdict", "body", "fetched_at", "expires_at")
        values = [
            (bytes([n] * 16), row.origin, row.verdict, row.body, row.fetched_at, row.expires_at)
            for n, row in enumerate([*rows, old])
        ]
        await conn.insert("robots", columns, values)

    await rig.database.write(write)
    found = await rig.database.read(lambda conn: stored_robots(conn, most))
    assert found == [rows[n] for n in expected]
