"""Every service starts once, in order, and stops once, in reverse; stopping twice is safe."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

import structlog

from fyke.core.clock import monotonic

__all__ = ["LagMeter", "Loop", "Service", "Stack", "until_signalled"]

log = structlog.get_logger("fyke.engine")

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


class Service(Protocol):
    async def start(self) -> None: ...

    async def stop(self) -> None: ...


class Stack:
    """Services that live together: started in order, stopped in reverse, even when one fails."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.services = list(services)
        self.started: list[Service] = []

    async def start(self) -> None:
        try:
            for service in self.services:
                await service.start()
                self.started.append(service)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        while self.started:
            service = self.started.pop()
            try:
                await service.stop()
            except Exception:  # one that cannot stop must not keep the others from it
                log.exception("stop_failed", service=type(service).__name__)


class Loop:
    """A step that is run again and again: it returns how many seconds to rest before the next."""

    def __init__(self, name: str, step: Callable[[], Awaitable[float]], *, pause: float = 5.0) -> None:
        self.name = name
        self.step = step
        self.pause = pause  # after a failure
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self.task is None:
            self.task = asyncio.create_task(self._run(), name=self.name)

    async def stop(self) -> None:
        task, self.task = self.task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            try:
                rest = await self.step()
            except Exception as error:  # the next round may pass; what stops it is said each time
                log.warning("step_failed", step=self.name, error=type(error).__name__, reason=str(error))
                rest = self.pause
            await asyncio.sleep(rest)


async def until_signalled() -> str:
    """Wait for SIGTERM or SIGINT; further ones change nothing, for as long as the process lives."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[str] = loop.create_future()

    def note(name: str) -> None:
        if not arrived.done():
            arrived.set_result(name)

    def catch(number: int, _frame: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(note, signal.Signals(number).name)

    for one in STOPPING:
        signal.signal(one, catch)
    name = await arrived
    # The loop's own handlers end with the loop, Python's with the interpreter's last steps; what is ignored
    # stays so. Not in the handler: of several signals at once it would take the others' away.
    for one in STOPPING:
        signal.signal(one, signal.SIG_IGN)
    return name


class LagMeter:
    """Tells how late the event loop comes to what is due, in seconds, ten times a second."""

    INTERVAL = 0.1

    def __init__(self, observe: Callable[[float], None]) -> None:
        self.observe = observe
        self.due = 0.0
        self.loop = Loop("lag", self._step)

    async def start(self) -> None:
        self.due = monotonic()
        await self.loop.start()

    async def stop(self) -> None:
        await self.loop.stop()

    async def _step(self) -> float:
        now = monotonic()
        self.observe(max(0.0, now - self.due))
        self.due = now + self.INTERVAL
        return self.INTERVAL
