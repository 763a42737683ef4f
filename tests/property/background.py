"""The real application, queue and store for properties: one database, emptied for each example."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
from hypothesis import HealthCheck, settings

from fyke.store.conn import Conn
from fyke.store.schema import metadata
from tests.contract.rig import Rig
from tests.integration.api_parts import Parts

__all__ = ["Fyke", "few", "running"]

T = TypeVar("T")

# A loaded machine is no fault; every example is a handful of transactions.
few = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


class Fyke:
    """The application, and its queue to be worked by hand. Examples are run on a loop of their own."""

    def __init__(self, parts: Parts, runner: asyncio.Runner) -> None:
        self.parts = parts
        self.runner = runner
        self.rig = Rig.__new__(Rig)
        self.rig.url, self.rig.database, self.rig.queue = "", parts.database, parts.queue

    def run(self, example: Coroutine[Any, Any, T]) -> T:
        """One example, on an empty database that has but its keys."""

        async def alone() -> T:
            await self.parts.database.write(empty)
            self.rig.lease = await self.rig.open_lease()
            return await example

        return self.runner.run(alone())

    async def call(
        self, method: str, path: str, *, scope: str | None = "admin", **more: Any
    ) -> httpx.Response:
        async with self.parts.client(scope) as client:
            return await client.request(method, f"/api/v1{path}", **more)

    async def read(self, path: str, **query: Any) -> Any:
        answer = await self.call("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


async def empty(conn: Conn) -> None:
    for table in metadata.tables:
        if table != "api_keys":
            await conn.execute(f"DELETE FROM {table}")


@contextmanager
def running(directory: Path) -> Iterator[Fyke]:
    with asyncio.Runner() as runner:
        opened: AbstractAsyncContextManager[Parts] = Parts.running(directory)
        parts = runner.run(opened.__aenter__())
        try:
            yield Fyke(parts, runner)
        finally:
            runner.run(opened.__aexit__(None, None, None))
