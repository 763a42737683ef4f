"""The server as `fyke serve` starts it, and a site for it to crawl, both on loopback."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any

import httpx
from msgspec import Struct

from fyke.cli.server import Server
from fyke.core.job import ENDED
from fyke.politeness.policies import Policies
from fyke.settings import Settings
from fyke.store.migrate import migrate
from fyke.wiring import open_base
from tests.integration.jobs.site import Site

__all__ = ["World", "data_of", "world"]

FREE = "default: {delay: 0, concurrency: 0}"
OPTIONS = {"max_concurrency": 0, "exports": []}


class World(Struct):
    """A server with its first admin key, a client that sends it, and a site."""

    server: Server
    client: httpx.AsyncClient
    shop: Site

    async def submit(self, paths: Iterable[str], **body: Any) -> str:
        """Make a job of a site's pages; its id."""
        urls = list(self.shop.urls(paths))
        options = OPTIONS | body.pop("options", {})
        answer = await self.client.post("/api/v1/jobs", json={"urls": urls, "options": options, **body})
        return str(data_of(answer, 201)["id"])

    async def job(self, job: str) -> dict[str, Any]:
        return dict(data_of(await self.client.get(f"/api/v1/jobs/{job}")))

    async def ended(self, job: str) -> dict[str, Any]:
        """The job when it has ended."""
        async with asyncio.timeout(60):
            while (found := await self.job(job))["state"] not in ENDED:
                await self.server.behind.changes.wait(0.2)
        return found

    async def crawl(self, paths: Iterable[str], **body: Any) -> dict[str, Any]:
        return await self.ended(await self.submit(paths, **body))

    async def post(self, job: str, action: str, **body: Any) -> httpx.Response:
        """Tell a job what to do."""
        return await self.client.post(f"/api/v1/jobs/{job}/{action}", json=body or None)

    async def results(self, job: str, kind: str, **query: Any) -> list[dict[str, Any]]:
        answer = await self.client.get(f"/api/v1/jobs/{job}/{kind}", params={"limit": 500, **query})
        return list(data_of(answer))


def data_of(answer: httpx.Response, status: int = 200) -> Any:
    """What a successful answer gives."""
    assert answer.status_code == status, answer.text
    return answer.json()["data"]


@asynccontextmanager
async def world(directory: Path, template: Path, shop: Site, **settings: Any) -> AsyncIterator[World]:
    data = directory / "data"
    data.mkdir()
    if "database_url" in settings:
        await migrate(settings["database_url"])
    else:
        copyfile(template, data / "fyke.db")
    chosen = Settings(
        data_dir=data, port=0, egress_allow=["127.0.0.0/8"], grace_seconds=1, retry_base=0.01, **settings
    )
    server = Server(await open_base(chosen, Policies.with_file(FREE)))
    await server.start()
    try:
        headers = {"Authorization": f"Bearer {server.key_file.read_text().strip()}"}
        async with httpx.AsyncClient(base_url=server.address, headers=headers, timeout=30) as client:
            yield World(server, client, shop)
    finally:
        shop.door.set()
        await server.stop()
