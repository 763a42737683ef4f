"""The server: the API over HTTP, and the engine behind it, in one process."""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final, TypeVar

import uvicorn
from prometheus_client import CollectorRegistry

from fyke.api.app import create_app
from fyke.api.protocol import Protocol
from fyke.api.services import UNWRITTEN, EngineHealth
from fyke.cli.admin_key import ensure_admin_key
from fyke.cli.announce import Address, Announced
from fyke.core.errors import Conflict
from fyke.core.queue import Share
from fyke.engine.lifecycle import Service, Stack
from fyke.fleet.processes import WorkerProcesses
from fyke.jobs.export import Register, export_job
from fyke.jobs.submit import JobRequest, Prepared
from fyke.objects.protocol import ObjectStore, Readable
from fyke.politeness.policies import Policies
from fyke.settings import Settings
from fyke.store.conn import Database
from fyke.store.events import Bell
from fyke.store.queue import SqlQueue
from fyke.wiring import Base, Engine, kept_bodies

__all__ = ["Server"]

T = TypeVar("T")
SILENT: Final = 10.0  # seconds; a worker process reports every two


class Quiet(uvicorn.Server):
    """Signals are the command's business; and it tells when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class HttpServer:
    """uvicorn as a service. A stop sends those away who follow a job: they would hold it up for all of
    its grace."""

    def __init__(self, app: Any, settings: Settings, followed: Bell) -> None:
        self.settings = settings
        self.followed = followed
        self.server = Quiet(
            uvicorn.Config(
                app,
                http=Protocol,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=max(1, int(settings.grace_seconds)),
            )
        )
        self.address = ""
        self.port = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        family = socket.AF_INET6 if ":" in self.settings.host else socket.AF_INET
        sock = socket.socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((self.settings.host, self.settings.port))
        except OSError as error:
            sock.close()
            where = f"{self.settings.host}:{self.settings.port}"
            raise Conflict(f"cannot listen on {where}: {error.strerror}; set --host or --port") from error
        self.port = sock.getsockname()[1]
        host = f"[{self.settings.host}]" if family == socket.AF_INET6 else self.settings.host
        self.address = f"http://{host}:{self.port}"
        self._task = asyncio.create_task(self.server.serve([sock]), name="http")
        await self.server.up.wait()

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            self.server.should_exit = True
            self.followed.close()
            await asyncio.wait([task])


class Ringing:
    """Work that moves rings the bell that those who follow a job listen to."""

    def __init__(self, queue: SqlQueue, bell: Bell) -> None:
        self.queue = queue
        self.bell = bell
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._ring(), name="bell")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _ring(self) -> None:
        news = self.queue.subscribe()
        while True:
            await news.wait()
            news.clear()
            self.bell.ring()


class Behind:
    """What the API calls: see api.services.Services."""

    def __init__(self, base: Base, engine: Engine | None = None) -> None:
        self.base = base
        self.engine = engine
        self.processes: WorkerProcesses | None = None
        self.changes = Bell()
        self.registry = engine.registry if engine else CollectorRegistry()

    @property
    def settings(self) -> Settings:
        return self.base.settings

    @property
    def database(self) -> Database:
        return self.base.database

    @property
    def objects(self) -> ObjectStore:
        return self.base.objects

    @property
    def bodies(self) -> Readable:
        return kept_bodies(self.base.settings, self.base.objects)

    @property
    def policies(self) -> Policies:
        return self.base.policies

    @property
    def queue(self) -> SqlQueue:
        return self.base.queue

    async def submit(self, request: JobRequest) -> Prepared:
        return await self.base.submit(request)

    async def export(self, job: int, type: str, format: str, register: Register[T]) -> T:
        return await export_job(self.base.export_parts(), job, type, format, register)

    async def health(self) -> EngineHealth:
        if self.engine is None:
            return EngineHealth()
        parts: dict[str, Any] = {"workers_wanted": self.settings.workers}
        problems = []
        worker = self.engine.worker
        if worker is not None:
            parts["worker"] = {"held": len(worker.held), "running": worker.running}
        metrics = self.engine.metrics
        if problem := metrics.problem() or metrics.problem_of_others():
            problems.append(f"{UNWRITTEN}: {problem}")
        if self.processes is not None:
            alive = len(self.processes.pids())
            parts["worker_processes"] = alive
            if alive < self.settings.workers:
                problems.append(f"{alive} of {self.settings.workers} worker processes run")
            if silent := metrics.silent(SILENT):
                problems.append(f"{silent} worker processes have said nothing for {SILENT:.0f} s")
        return EngineHealth(parts, tuple(problems), metrics.lag_lately)


def share_of(settings: Settings) -> Share | None:
    """What the server's own process works on. Beside an embedded database's worker processes, which do
    not reach it, that is what needs it; nothing where there are to be no workers at all."""
    if settings.workers == 1:
        return Share.ALL
    return Share.OWN if settings.workers and settings.embedded else None


class Server:
    """See the module."""

    def __init__(self, base: Base) -> None:
        settings = base.settings
        self.engine = Engine(base, share_of(settings))
        self.behind = Behind(base, self.engine)
        self.http = HttpServer(create_app(self.behind), settings, self.behind.changes)
        self.announced = Announced(settings.data_dir, lambda: Address(settings.host, self.http.port))
        services: list[Service] = [self.engine, Ringing(base.queue, self.behind.changes), self.http]
        if settings.workers > 1:
            processes = WorkerProcesses(
                settings.workers, base.queue, self.engine.metrics, settings.grace_seconds
            )
            self.behind.processes = processes
            services.append(processes)
        self.stack = Stack(services)
        self.database = base.database
        self.key_file: Path = settings.data_dir / "admin.key"
        self.new_key = False

    async def start(self) -> None:
        await self.stack.start()
        self.new_key = await ensure_admin_key(self.database, self.key_file)
        await self.announced.start()

    async def stop(self) -> None:
        await self.announced.stop()
        await self.stack.stop()

    @property
    def address(self) -> str:
        return self.http.address
