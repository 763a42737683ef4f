"""The composition root: what a process is made of, for serve, worker, crawl and demo."""

import os
import socket
from asyncio import to_thread
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import structlog
from msgspec import Struct
from prometheus_client import CollectorRegistry

from fyke.core.errors import DiskFull, InvalidSetting, StoreError
from fyke.core.handler import Handler
from fyke.core.outcome import SaveExport
from fyke.core.queue import Share
from fyke.core.retry import RetryPolicy
from fyke.core.task import Kind, LaneSpec, WorkerInfo
from fyke.core.urls import host_of
from fyke.egress.guard import Guard
from fyke.engine.lifecycle import LagMeter, Loop, Service, Stack
from fyke.engine.lock import DirectoryLock
from fyke.engine.metrics import EngineMetrics
from fyke.engine.upkeep import Upkeep, UpkeepOptions
from fyke.engine.worker import Worker, WorkerOptions
from fyke.export import write as export
from fyke.fetch.client import HttpClient
from fyke.fetch.options import FetchOptions, Limits
from fyke.fleet.reports import Reports
from fyke.fleet.wire import WireQueue
from fyke.jobs.export import ExportParts, export_job
from fyke.jobs.finish import FinishHandler
from fyke.jobs.page import Bodies, PageHandler, PageParts
from fyke.jobs.plan import PlanHandler, PlanParts
from fyke.jobs.submit import JobRequest, Prepared, prepare
from fyke.objects.bodies import KeptBodies
from fyke.objects.local import LocalObjects, clear_abandoned
from fyke.objects.protocol import ObjectStore, ObjectsUnusable
from fyke.politeness.adapt import crawl_delay
from fyke.politeness.policies import Policies
from fyke.politeness.robots import MOST_BYTES, REDIRECTS, Robots
from fyke.politeness.rules import SIZE_LIMIT
from fyke.settings import Settings, no_file
from fyke.store.conn import Database
from fyke.store.exports import Export, register_made
from fyke.store.migrate import check, head, migrate
from fyke.store.open import database_for
from fyke.store.queue import SqlQueue
from fyke.store.queue.adopt import adopt_policies
from fyke.store.robots import stored_robots

__all__ = [
    "ROBOTS",
    "Base",
    "Engine",
    "bring_up",
    "kept_bodies",
    "load_policies",
    "make_data_dir",
    "open_base",
]

log = structlog.get_logger("fyke")

LONGEST_JOB = 7.0  # days
ROBOTS = FetchOptions(
    accept="text/plain,*/*;q=0.8",
    redirects=REDIRECTS,
    patience=0.5,
    max_bytes=SIZE_LIMIT,
    max_inflated=SIZE_LIMIT,
    truncate=True,
)


class Base(Struct):
    """What every command that works on the data needs: nothing in it runs by itself."""

    settings: Settings
    policies: Policies
    guard: Guard
    objects: LocalObjects
    database: Database
    queue: SqlQueue

    async def start(self) -> None:
        await self.database.open()

    async def stop(self) -> None:
        await self.database.close()

    async def submit(self, request: JobRequest) -> Prepared:
        directory = scratch_of(self.settings)
        return await prepare(request, self.policies, self.guard, self.objects, directory)

    async def export(self, job: int, type: str, format: str) -> Export:
        async def register(made: SaveExport) -> Export:
            return await self.database.write(lambda conn: register_made(conn, made))

        return await export_job(self.export_parts(), job, type, format, register)

    def export_parts(self) -> ExportParts:
        write = partial(export.write, objects=kept_bodies(self.settings, self.objects))
        return ExportParts(self.database, self.objects, write, scratch_of(self.settings))


def load_policies(settings: Settings) -> Policies:
    """The shipped policies, with the operator's file on top."""
    file = settings.policies
    if file is None:
        return Policies.with_file()
    try:
        return Policies.with_file(file.read_text("utf-8"), str(file))
    except OSError as error:
        message = f"{file}: {error.strerror}"
    except UnicodeDecodeError as error:
        message = f"{file} is not UTF-8: {error.reason} at byte {error.start}"
    except InvalidSetting as error:
        message = error.message
    raise InvalidSetting(f"FYKE_POLICIES: {message}", field="FYKE_POLICIES")


def make_data_dir(settings: Settings) -> None:
    """Make the data directory where there is none."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{settings.data_dir} cannot be a directory: {error.strerror}"
        raise InvalidSetting(f"FYKE_DATA_DIR: {reason}", field="FYKE_DATA_DIR") from None
    if not os.access(settings.data_dir, os.W_OK | os.X_OK):
        raise InvalidSetting(
            f"FYKE_DATA_DIR: {settings.data_dir} cannot be written to", field="FYKE_DATA_DIR"
        )


def make_database_dir(settings: Settings) -> None:
    """Make the directory of an embedded database where there is none."""
    directory = settings.database_file.parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{directory} cannot be a directory: {error.strerror}"
        raise InvalidSetting(f"FYKE_DATABASE_URL: {reason}", field="FYKE_DATABASE_URL") from None
    check_database_file(settings)


def check_database_file(settings: Settings) -> None:
    """Refuse what can be no embedded database."""
    file = settings.database_file
    if settings.embedded and file.is_dir():
        name = "FYKE_DATABASE_URL" if settings.database_url else "FYKE_DATA_DIR"
        raise InvalidSetting(f"{name}: {no_file(file)}", field=name)


async def bring_up(settings: Settings) -> str:
    """Bring the database to this version's schema, and say which that is. An embedded one is changed by
    whoever has its directory: not beneath a process of an older version that works on it."""
    make_data_dir(settings)
    if not settings.embedded:
        return await migrate(settings.store_url)
    make_database_dir(settings)
    if await check(settings.store_url):
        return head()
    lock = DirectoryLock(settings.data_dir)
    await lock.start()
    try:
        return await migrate(settings.store_url)
    finally:
        await lock.stop()


async def check_objects(base: Base) -> None:
    """Whoever works needs a place for lists, bodies and exports. That it is full may pass."""
    try:
        await base.objects.check()
    except ObjectsUnusable as error:
        reason = f"{base.settings.objects_path}: {error.message}"
        raise InvalidSetting(f"FYKE_OBJECTS_DIR: {reason}", field="FYKE_OBJECTS_DIR") from None
    except DiskFull as error:
        log.warning("objects_full", reason=error.message)


async def open_base(settings: Settings, policies: Policies | None = None) -> Base:
    """The parts, on a database at this version: an embedded one is brought there, a shared one must be."""
    if settings.embedded:
        await bring_up(settings)
    elif not await check(settings.store_url):
        raise StoreError("the database is not at this version's schema: run `fyke db migrate`")
    database = database_for(
        settings.store_url,
        synchronous=settings.sqlite_synchronous,
        connections=settings.database_connections,
    )
    return Base(
        settings,
        policies or load_policies(settings),
        Guard(settings.egress_allow),
        LocalObjects(Path(settings.objects_path)),
        database,
        SqlQueue(database, settings.lease_seconds),
    )


def scratch_of(settings: Settings) -> Path:
    """Where files are written before they become objects; what killed processes left there is swept."""
    return settings.data_dir / "tmp"


def kept_bodies(settings: Settings, objects: ObjectStore) -> KeptBodies:
    """The bodies of all processes on the object store; no object's key leads to where they are open."""
    return KeptBodies(objects, settings.objects_path / ".segments")


class Engine:
    """A process that works on jobs: the base, and what runs on it. Without a share of the work it only
    keeps the queue in order."""

    def __init__(self, base: Base, share: Share | None = Share.ALL, *, adopts: bool = True) -> None:
        self.base = base
        self.registry = CollectorRegistry()
        self.metrics = EngineMetrics(self.registry)
        settings = base.settings
        self.fetching = Fetching(settings, base.guard, base.policies)
        self.bodies = kept_bodies(settings, base.objects)
        self.worker: Worker | None = None
        services: list[Service] = [base, self.fetching, LagMeter(self.metrics.observe_lag), self.bodies]
        if settings.embedded:
            services.insert(0, DirectoryLock(settings.data_dir))
            services.append(Takeover(base.queue))
        services.append(Memory(base, self.fetching.robots, adopts=adopts))
        services.append(
            Upkeep(base.database, base.queue, self._forget, upkeep_options(settings), self.metrics)
        )
        services.append(Loop("bodies", self._forget_bodies))
        services.append(Loop("abandoned", self._clear_abandoned))
        if share is not None:
            handlers = own_handlers(base)
            if share is not Share.OWN:
                handlers |= self.fetching.handlers(base.objects, self.bodies.writer)
            queue = base.queue.limited_to(share)
            self.worker = Worker(queue, handlers, worker_options(settings), self.metrics)
            services.append(Named(self.worker))
        self.stack = Stack(services)

    async def start(self) -> None:
        await check_objects(self.base)
        await self.stack.start()

    async def rest(self) -> None:
        """Work no more: what has been done is in the database when this returns, which is open still."""
        if self.worker is not None:
            await self.worker.stop()

    async def stop(self) -> None:
        await self.stack.stop()

    async def _forget(self, keys: list[str]) -> None:
        for key in keys:
            await self.base.objects.delete_prefix(key)

    async def _forget_bodies(self) -> float:
        """A job's bodies stay as long as the job; it may have taken days."""
        settings = self.base.settings
        await self.bodies.writer.turn()
        await self.bodies.forget(max(settings.keep_results_days, settings.keep_failures_days) + LONGEST_JOB)
        return 3600.0

    async def _clear_abandoned(self) -> float:
        """Files that killed processes were writing."""
        await self.base.objects.sweep()
        await to_thread(clear_abandoned, scratch_of(self.base.settings))
        return 3600.0


class Memory:
    """What the database knows from before, brought together with what holds now: robots.txt files, and the
    lanes' limits (`adopts`)."""

    def __init__(self, base: Base, robots: Robots, *, adopts: bool) -> None:
        self.base = base
        self.robots = robots
        self.adopts = adopts

    async def start(self) -> None:
        stored = await self.base.database.read(partial(stored_robots, most_bytes=MOST_BYTES))
        await self.robots.preload(stored)
        if not self.adopts:
            return
        delays = self._crawl_delays()
        after = -1 << 62
        while after != -1:
            _, after = await self.base.database.write(
                lambda conn, after=after: adopt_policies(conn, after, partial(self._spec, delays=delays))  # type: ignore[misc]  # bound default
            )

    async def stop(self) -> None:
        """Nothing to do."""

    def _crawl_delays(self) -> dict[str, int]:
        """By lane, the interval that a Crawl-delay has brought about."""
        found: dict[str, int] = {}
        policies = self.base.policies
        for origin, seconds in self.robots.crawl_delays().items():
            lane = policies.lane_for(f"{origin}/")
            slow = crawl_delay(seconds, policies.policy_for(host_of(f"{origin}/")))
            if slow is not None:
                found[lane.key] = max(slow.interval, found.get(lane.key, 0))
        return found

    def _spec(self, key: str, delays: Mapping[str, int]) -> LaneSpec | None:
        if key.startswith("fyke:"):
            return None
        spec = self.base.policies.lane_named(key)
        return msgspec.structs.replace(spec, interval=max(spec.interval, delays.get(key, 0)))


class Fetching:
    """The client, and what robots.txt files say."""

    def __init__(self, settings: Settings, guard: Guard, policies: Policies) -> None:
        limits = Limits(
            header_bytes=settings.max_header_bytes,
            body_bytes=settings.max_body_bytes,
            inflated_bytes=settings.max_inflated_bytes,
            redirects=settings.max_redirects,
            connect=settings.connect_timeout,
            first_byte=settings.read_timeout,
            total=settings.total_timeout,
        )
        self.guard = guard
        self.policies = policies
        self.retry = retry_policy(settings)
        self.scratch = scratch_of(settings)
        self.client = HttpClient(guard, limits, settings.user_agent)
        self.robots = Robots(self._fetch_robots, agent_of(settings.user_agent))

    async def _fetch_robots(self, request: Any) -> Any:
        return await self.client.fetch(request, ROBOTS)

    async def start(self) -> None:
        await self.client.start()

    async def stop(self) -> None:
        await self.robots.stop()
        await self.client.stop()

    def handlers(self, objects: ObjectStore, bodies: Bodies) -> dict[str, Handler]:
        """What any worker can do."""
        plan = PlanParts(
            self.client, self.guard, self.robots, self.policies, objects, self.retry, self.scratch
        )
        return {
            Kind.PAGE: PageHandler(PageParts(self.client, self.robots, self.policies, self.retry, bodies)),
            Kind.PLAN: PlanHandler(plan),
        }


def own_handlers(base: Base) -> dict[str, Handler]:
    """What only a worker that reaches the database can do."""
    return {Kind.FINISH: FinishHandler(base.export_parts(), retry_policy(base.settings))}


class WiredWorker:
    """A worker process beside a server: everything but the database, which the wire leads to."""

    def __init__(self, settings: Settings, sock: socket.socket) -> None:
        policies = load_policies(settings)
        metrics = EngineMetrics(CollectorRegistry())
        fetching = Fetching(settings, Guard(settings.egress_allow), policies)
        self.queue = WireQueue(sock, settings.lease_seconds)
        objects = LocalObjects(Path(settings.objects_path))
        bodies = kept_bodies(settings, objects)
        handlers = fetching.handlers(objects, bodies.writer)
        self.worker = Worker(self.queue, handlers, worker_options(settings), metrics)
        reports = Reports(metrics, self.queue.report)
        self.stack = Stack([self.queue, reports, fetching, bodies, Named(self.worker)])

    async def start(self) -> None:
        await self.stack.start()

    async def stop(self) -> None:
        await self.stack.stop()


class Named:
    """A worker whose name is in whatever it logs: its tasks have the context they are started in."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def start(self) -> None:
        with structlog.contextvars.bound_contextvars(worker=self.worker.options.info.name):
            await self.worker.start()

    async def stop(self) -> None:
        await self.worker.stop()


class Takeover:
    """Whoever owns the data directory knows that all others who worked on it are gone: their leases end
    now instead of in their own time."""

    def __init__(self, queue: SqlQueue) -> None:
        self.queue = queue

    async def start(self) -> None:
        await self.queue.expire_all()

    async def stop(self) -> None:
        """Nothing to do."""


def agent_of(user_agent: str) -> str:
    """The name by which robots.txt files know the crawler: the first product of the user agent."""
    return user_agent.split("/", 1)[0].split(" ", 1)[0] or "Fyke"


def retry_policy(settings: Settings) -> RetryPolicy:
    return RetryPolicy(
        settings.retry_attempts, settings.retry_base, settings.retry_factor, settings.retry_cap
    )


def worker_options(settings: Settings) -> WorkerOptions:
    info = WorkerInfo(f"{socket.gethostname()}-{os.getpid()}", socket.gethostname(), os.getpid())
    return WorkerOptions(
        info,
        concurrency=settings.concurrency,
        ahead=settings.concurrency,
        grace=settings.grace_seconds,
        retry=retry_policy(settings),
    )


def upkeep_options(settings: Settings) -> UpkeepOptions:
    return UpkeepOptions(keep_results=settings.keep_results_days, keep_failures=settings.keep_failures_days)
