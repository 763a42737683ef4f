"""/health, /readiness: open to all, and telling nothing that is not for all."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from msgspec import Struct, json

from fyke import __version__
from fyke.api.kept import Kept
from fyke.api.openapi import gives
from fyke.api.services import EngineHealth, Services
from fyke.core.clock import monotonic
from fyke.core.errors import FykeError, StoreError
from fyke.store.health import Load, WorkerState, read_load

__all__ = ["KEPT", "PATIENCE", "examine", "router", "within"]

T = TypeVar("T")
router = APIRouter(tags=["operation"])

PATIENCE: Final = 5.0  # seconds for the database to answer
KEPT: Final = 2.0  # seconds that a look is good for: it reads the database and writes a file
LAGGING: Final = 1.0  # seconds of the event loop
NOTHING: Final = Load((), (), 0, {}, 0)
OVERDUE: Final = 10.0  # seconds that a lease may have run out before somebody should have noticed


class Component(Struct, frozen=True):
    """The database, or the object store."""

    ok: bool
    seconds: float


class Worker(Struct, frozen=True):
    """A worker: `busy`, `idle`, or `disconnected` (its lease has run out, and nobody has taken over yet), how
    many seconds it has held its lease, and how many the lease holds still."""

    state: WorkerState
    age: float
    left: float


class Waiting(Struct, frozen=True):
    """Tasks of a kind, and the age of the oldest in seconds."""

    kind: str
    depth: int
    age: float


class Health(Struct, frozen=True):
    """How Fyke is: `ok`, `degraded` with the reasons, or `down`."""

    status: str
    reasons: list[str]
    version: str
    database: Component
    objects: Component
    workers: list[Worker]
    queues: list[Waiting]
    running: int
    jobs: dict[str, int]
    exports: int
    event_loop_lag: float
    parts: dict[str, Any]


async def _latest(request: Request) -> Kept[Health]:
    kept: Kept[Health] = request.app.state.health
    return kept


Latest = Annotated[Kept[Health], Depends(_latest)]


class Readiness(Struct, frozen=True):
    """Whether work can be taken and done."""

    ready: bool
    reasons: list[str]


@router.head("/health", include_in_schema=False)
@router.get("/health", **gives(Health, 200, "It works, at least in part.", enveloped=False, also=503))
async def health(latest: Latest) -> Response:
    """How the whole is, looked at closely."""
    return answer(await latest.get())


@router.head("/readiness", include_in_schema=False)
@router.get("/readiness", **gives(Readiness, 200, "Work can be taken.", enveloped=False, also=503))
async def readiness(latest: Latest) -> Response:
    """Whether work can be taken and done now."""
    found = await latest.get()
    reasons = list(found.reasons) if found.status == "down" else []
    if found.status != "down" and not found.objects.ok:  # bodies and exports are part of the work
        reasons += [reason for reason in found.reasons if reason.startswith("objects:")]
    if found.status != "down" and all(worker.state == "disconnected" for worker in found.workers):
        reasons.append("no worker holds a lease")
    return answer(Readiness(not reasons, reasons))


def answer(found: Health | Readiness) -> Response:
    well = found.ready if isinstance(found, Readiness) else found.status != "down"
    return Response(json.encode(found), 200 if well else 503, media_type="application/json")


async def examine(services: Services) -> Health:
    (load, problem, database), (unusable, objects) = await asyncio.gather(_ask(services), _try(services))
    engine = await services.health()
    lag = engine.lag if engine.lag is not None else await _lag()
    if load is None:
        return _health("down", [problem, *unusable], (database, objects), NOTHING, lag, engine)
    reasons = [*unusable, *engine.problems, *_reasons(load, lag)]
    status = "degraded" if reasons else "ok"
    return _health(status, reasons, (database, objects), load, lag, engine)


async def _ask(services: Services) -> tuple[Load | None, str, Component]:
    started = monotonic()
    try:
        load = await within(PATIENCE, services.database.read(read_load))
    except TimeoutError:
        problem = f"database: no answer within {PATIENCE:.0f} s"
    except StoreError as error:
        problem = f"database: {error.code}"  # its text may hold an address
    else:
        return load, "", Component(True, round(monotonic() - started, 4))
    return None, problem, Component(False, round(monotonic() - started, 4))


async def _try(services: Services) -> tuple[list[str], Component]:
    """Whether the object store takes anything; why not."""
    started = monotonic()
    unusable = []
    try:
        await within(PATIENCE, services.objects.check())
    except TimeoutError:
        unusable = [f"objects: no answer within {PATIENCE:.0f} s"]
    except FykeError as error:
        unusable = [f"objects: {error.message}"]
    return unusable, Component(not unusable, round(monotonic() - started, 4))


async def within(seconds: float, asked: Coroutine[Any, Any, T]) -> T:
    """What `asked` gives, or TimeoutError. Nobody waits for the end of what is given up: a database that
    does not answer does not confirm that either."""
    task = asyncio.create_task(asked)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    finally:
        task.add_done_callback(_seen)
        task.cancel()
    if not done:
        raise TimeoutError
    return task.result()


def _seen(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()


async def _lag() -> float:
    """How late the event loop is just now."""
    due = monotonic() + 0.01
    await asyncio.sleep(0.01)
    return max(0.0, monotonic() - due)


def _reasons(load: Load, lag: float) -> list[str]:
    reasons = []
    waiting = sum(queue.depth for queue in load.queues)
    if waiting and not any(lease.left > 0 for lease in load.leases):
        reasons.append(f"workers: none, and {waiting} tasks wait")
    overdue = sum(lease.left < -OVERDUE for lease in load.leases)
    if overdue:
        reasons.append(f"workers: {overdue} leases have run out and nobody has taken over")
    if lag > LAGGING:
        reasons.append(f"event loop: {lag:.1f} s late")
    return reasons


def _health(
    status: str,
    reasons: list[str],
    components: tuple[Component, Component],
    load: Load,
    lag: float,
    engine: EngineHealth,
) -> Health:
    return Health(
        status,
        reasons,
        __version__,
        *components,
        [Worker(lease.state, round(lease.age, 1), round(lease.left, 1)) for lease in load.leases],
        [Waiting(queue.kind, queue.depth, round(queue.age, 1)) for queue in load.queues],
        load.running,
        load.jobs,
        load.exports,
        round(lag, 4),
        dict(engine.parts),
    )
