"""What is open to all is looked up once for all: a flood of questions costs no more than a few."""

from asyncio import Task, create_task, shield
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from fyke.core.clock import monotonic

__all__ = ["Kept"]

T = TypeVar("T")


class Kept(Generic[T]):
    """What `ask` finds, good for some seconds from when it was asked: who comes while it is being asked waits
    for the same answer. One that failed is not kept."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> None:
        self.ask = ask
        self.seconds = seconds
        self._asked_at = 0.0
        self._asking: Task[T] | None = None

    async def get(self) -> T:
        asking = self._asking
        if asking is None or (asking.done() and (self._old() or _failed(asking))):
            self._asked_at = monotonic()
            asking = self._asking = create_task(self.ask())
        return await shield(asking)

    def _old(self) -> bool:
        return monotonic() - self._asked_at >= self.seconds


def _failed(asking: Task[Any]) -> bool:
    return asking.cancelled() or asking.exception() is not None
