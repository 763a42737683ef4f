"""A queue that answers each call as the test says, and keeps nothing."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any

from prometheus_client import CollectorRegistry

from fyke.core.handler import Context, Handler
from fyke.core.outcome import Outcome, Settled, Verdict
from fyke.core.retry import RetryPolicy
from fyke.core.task import Batch, JobInfo, Kind, Task, WorkerInfo
from fyke.engine.metrics import EngineMetrics
from fyke.engine.worker import Worker, WorkerOptions

__all__ = ["SOON", "Call", "ScriptedQueue", "accepting", "batch", "done", "failing", "turns", "worker_on"]

SOON = 30.0  # seconds in which whatever is waited for comes, or never does

Run = Callable[[Task], Awaitable[Outcome]]


class Call:
    """A call that waits for its answer."""

    def __init__(self, arguments: tuple[Any, ...]) -> None:
        self.arguments = arguments
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, value: Any = None) -> None:
        self.future.set_result(value)

    def fail(self, error: Exception) -> None:
        self.future.set_exception(error)

    def accept(self) -> None:
        """Answer a settling: all is well."""
        self.answer(accepting(*self.arguments))

    @property
    def outcomes(self) -> list[Outcome]:
        return list(self.arguments[1])


class ScriptedQueue:
    """See core.queue.Queue. A method that stands in `answers` answers at once; any other's calls wait
    until the test has fetched and answered them. What may be called at any time answers from the start."""

    def __init__(self, lease_seconds: float = 600.0) -> None:
        self.lease_seconds = lease_seconds
        leases = count(1)
        self.answers: dict[str, Callable[..., Any]] = {
            "open_lease": lambda _info: next(leases),
            "renew": lambda _lease: None,
            "hand_back": lambda _lease, _tasks: None,
            "close_lease": lambda _lease: None,
        }
        self.calls: defaultdict[str, asyncio.Queue[Call]] = defaultdict(asyncio.Queue)
        self.news = asyncio.Event()

    async def next(self, method: str) -> Call:
        """The next call of a method, answered or not."""
        async with asyncio.timeout(SOON):
            return await self.calls[method].get()

    async def _call(self, method: str, *arguments: Any) -> Any:
        call = Call(arguments)
        self.calls[method].put_nowait(call)
        if method in self.answers:
            return self.answers[method](*arguments)
        return await call.future

    async def open_lease(self, worker: WorkerInfo) -> int:
        return int(await self._call("open_lease", worker))

    async def claim(self, lease: int, want: int) -> Batch:
        claimed: Batch = await self._call("claim", lease, want)
        return claimed

    async def claim_suspect(self, lease: int) -> Batch:
        claimed: Batch = await self._call("claim_suspect", lease)
        return claimed

    async def renew(self, lease: int) -> None:
        await self._call("renew", lease)

    async def settle(self, lease: int, outcomes: Sequence[Outcome]) -> Settled:
        settled: Settled = await self._call("settle", lease, list(outcomes))
        return settled

    async def hand_back(self, lease: int, tasks: Sequence[int]) -> None:
        await self._call("hand_back", lease, list(tasks))

    async def close_lease(self, lease: int) -> None:
        await self._call("close_lease", lease)

    def subscribe(self) -> asyncio.Event:
        return self.news


def accepting(_lease: int, outcomes: Sequence[Outcome]) -> Settled:
    return Settled([outcome.task for outcome in outcomes], [])


async def turns() -> None:
    """Let whatever can go on without outside help go on."""
    loop = asyncio.get_running_loop()
    for _ in range(50):
        passed = loop.create_future()
        loop.call_soon(passed.set_result, None)
        await passed


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_arguments: Any) -> Any:
        raise error

    return fail


def batch(*numbers: int, claims: int = 1, kind: str = Kind.NOOP, suspects: bool = False) -> Batch:
    tasks = [Task(n, 7, 1, kind, n, f"http://shop.example/{n}", b"", 1, claims) for n in numbers]
    return Batch(tasks, {7: JobInfo(7, b"{}")}, 0, suspects)


def done(task: Task) -> Outcome:
    return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED)


def worker_on(queue: ScriptedQueue, run: Run, concurrency: int = 4, grace: float = 30.0) -> Worker:
    async def handler(task: Task, job: JobInfo, context: Context) -> Outcome:
        return await run(task)

    handlers: Mapping[str, Handler] = {Kind.NOOP: handler, Kind.PAGE: handler}
    options = WorkerOptions(
        WorkerInfo("w", "localhost", 1), concurrency, concurrency, grace, retry=RetryPolicy(base=0.0)
    )
    return Worker(queue, handlers, options, EngineMetrics(CollectorRegistry()))
