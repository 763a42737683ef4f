"""The server dies while jobs are submitted; whoever had no answer sends the same request again, with the
same Idempotency-Key, and every job is there once."""

import asyncio
import http.client
import random
from pathlib import Path

import pytest

from tests.chaos.rig import Rig, rigged
from tests.chaos.size import ALL, Size, on

CLIENTS = 4
SLOWEST = 0.02  # seconds from the submit chosen to the kill

submits = on(ALL, Size(pages=40, blows=2), Size(pages=300, blows=12, lease=15))


class Submits:
    """One job for each page of the site, sent by several clients until it is answered."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.left = [*enumerate(rig.site.urls)]
        self.sent = 0
        self.again = 0
        self.jobs: dict[str, int] = {}
        self.news = asyncio.Event()
        self.up = asyncio.Event()
        self.up.set()

    async def send(self) -> None:
        while self.left:
            number, url = self.left.pop(0)
            key = f"submit-{number}"
            self.sent += 1
            self.news.set()
            while key not in self.jobs:
                await self.up.wait()
                try:
                    self.jobs[key] = await asyncio.to_thread(self.rig.post, [url], key)
                except (OSError, http.client.HTTPException):
                    self.again += 1
                    await asyncio.sleep(0.05)

    async def reach(self, count: int) -> None:
        async with asyncio.timeout(60):
            while self.sent < count:
                self.news.clear()
                await self.news.wait()


@submits
async def test_submits_while_the_server_dies(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: Size
) -> None:
    url = request.getfixturevalue(database)
    async with rigged(tmp_path, url, size) as rig:
        server = await rig.serve(workers=1)
        submits = Submits(rig)
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(submits.send())
            for number in range(size.blows):
                await submits.reach((number + 1) * size.pages // (size.blows + 1))
                await asyncio.sleep(random.random() * SLOWEST)
                submits.up.clear()
                dead = server.pid
                await server.kill()
                server = await rig.serve(workers=1)
                rig.died(dead)  # now that there is somebody who can take over
                submits.up.set()
        for job in submits.jobs.values():
            await rig.finish(job, size.seconds)
        print(f"\nchaos: {submits.again} requests had no answer and were sent again")
        made = {row[0] for row in await rig.rows("SELECT id FROM jobs")}
        assert made == set(submits.jobs.values()), "every job that was made was answered for"
        (await rig.tally("server killed during submits", *made)).check(size.lease)
