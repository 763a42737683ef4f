"""What a handler is: a task in, an outcome out."""

from collections.abc import Sequence
from typing import Protocol

from fyke.core.outcome import Effect, Outcome
from fyke.core.task import JobInfo, Task

__all__ = ["Context", "Handler"]


class Context(Protocol):
    """What a running task may ask of the engine."""

    async def emit(self, effects: Sequence[Effect]) -> str | None:
        """Write part of the task's work now, in a transaction of its own that checks the lease, and go
        on; at most 1,000 rows at a time. Why the job takes no more URLs: it is being stopped, or has as
        many as it may have; None while it does. Running the task again must emit the same. Raises
        LeaseLost when the task belongs to somebody else."""
        ...


class Handler(Protocol):
    """The work of one kind of task. It may raise; the engine makes a retry or a failure of that."""

    async def __call__(self, task: Task, job: JobInfo, context: Context, /) -> Outcome: ...
