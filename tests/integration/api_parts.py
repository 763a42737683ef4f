"""The API over real parts, without an engine: jobs are submitted and wait, or are settled by hand."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from fyke.api.app import create_app
from fyke.api.auth import digest_of, new_token
from fyke.api.services import EngineHealth
from fyke.core.outcome import Effect, Outcome, Verdict
from fyke.core.task import Batch, Task, WorkerInfo
from fyke.egress.guard import Guard
from fyke.export import write as export
from fyke.jobs.export import ExportParts, Register, export_job
from fyke.jobs.submit import JobRequest, Prepared, prepare
from fyke.objects.local import LocalObjects
from fyke.politeness.policies import Policies
from fyke.settings import Settings
from fyke.store.conn import Database
from fyke.store.events import Bell
from fyke.store.keys import create_key
from fyke.store.migrate import migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue

T = TypeVar("T")
EVERYWHERE = ["0.0.0.0/0", "::/0", "127.0.0.0/8", "localhost"]


class Parts:
    """See api.services.Services."""

    def __init__(self, directory: Path, url: str, **settings: Any) -> None:
        self.settings = Settings(data_dir=directory, database_url=url, egress_allow=EVERYWHERE, **settings)
        self.database: Database = database_for(url)
        self.objects = self.bodies = LocalObjects(directory / "objects")
        self.policies = Policies.with_file("default: {delay: 0, concurrency: 0}")
        self.guard = Guard(self.settings.egress_allow)
        self.queue = SqlQueue(self.database)
        self.changes = Bell()
        self.registry = CollectorRegistry()
        self.engine = EngineHealth()
        self.app: FastAPI = create_app(self)
        self.app.state.health.seconds = 0.0  # tests change what it tells, and look at once
        self.tokens: dict[str, str] = {}

    @classmethod
    @asynccontextmanager
    async def running(cls, directory: Path, url: str = "", **settings: Any) -> AsyncIterator[Self]:
        url = url or f"sqlite:///{directory}/fyke.db"
        await migrate(url)
        parts = cls(directory, url, **settings)
        await parts.database.open()
        try:
            for scope in ("admin", "submit", "read", "worker"):
                parts.tokens[scope] = await parts.key(scope)
            yield parts
        finally:
            await parts.database.close()

    async def key(self, *scopes: str) -> str:
        token = new_token()
        digest = digest_of(token)
        await self.database.write(lambda conn: create_key(conn, "test", digest, frozenset(scopes)))
        return token

    async def submit(self, request: JobRequest) -> Prepared:
        return await prepare(request, self.policies, self.guard, self.objects)

    async def export(self, job: int, type: str, format: str, register: Register[T]) -> T:
        return await export_job(self.export_parts(), job, type, format, register)

    def export_parts(self) -> ExportParts:
        write = partial(export.write, objects=self.objects)
        return ExportParts(self.database, self.objects, write, self.settings.data_dir / "tmp")

    async def health(self) -> EngineHealth:
        return self.engine

    def client(self, scope: str | None = "admin") -> httpx.AsyncClient:
        """A client of the application, without a socket, that sends the key of a scope."""
        headers = {"Authorization": f"Bearer {self.tokens[scope]}"} if scope else {}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://fyke",
            headers=headers,
        )

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """The address of a real server on loopback."""
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(self.app, lifespan="off", log_level="warning", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        try:
            await server.startup([listening])
            serving = asyncio.create_task(server.main_loop())
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving
            await server.shutdown([listening])


class HandWorker:
    """A worker whose every step a test takes itself."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.lease = 0

    async def __aenter__(self) -> Self:
        self.lease = await self.parts.queue.open_lease(WorkerInfo("hand", "here", 1))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.parts.queue.close_lease(self.lease)

    async def claim(self, want: int = 100) -> Batch:
        return await self.parts.queue.claim(self.lease, want)

    async def settle(
        self,
        tasks: Sequence[Task],
        effects: Mapping[int, Sequence[Effect]],
        verdicts: Mapping[int, str] | None = None,
    ) -> None:
        """Settle tasks with the effects and verdicts of their places."""
        outcomes = [
            Outcome(
                task.id,
                task.lane,
                task.claims,
                (verdicts or {}).get(task.seq, Verdict.SUCCEEDED),
                tuple(effects.get(task.seq, ())),
                bytes_in=1000,
            )
            for task in tasks
        ]
        await self.parts.queue.settle(self.lease, outcomes)
        self.parts.changes.ring()
