"""When a handler raises instead of answering: a retry, or a failure that is written down."""

from typing import Any, Final

from msgspec import json

from fyke.core import clock
from fyke.core.errors import FykeError
from fyke.core.ids import public
from fyke.core.outcome import EndJob, Outcome, PageRow, SourceRead, Verdict
from fyke.core.page import ErrorClass
from fyke.core.retry import RetryPolicy, retry_delay
from fyke.core.task import Kind, Task

__all__ = ["outcome_of", "told"]


def told(error: Exception, task: Task) -> dict[str, Any]:
    """What the log says of it: whose task it was; where, if the error does not say enough itself."""
    job = json.decode(task.payload)["job"] if task.kind == Kind.FINISH else task.job
    found = {"task": public(task.id), "kind": task.kind, "job": public(job), "error": type(error).__name__}
    if isinstance(error, FykeError):
        return {**found, "reason": error.message}
    if isinstance(error, OSError) and error.strerror:
        return {**found, "reason": error.strerror}
    return {**found, "exc_info": error}


# A source that could not be read to its end may have more entries than it gave: no source has as many as are
# left room for here, and after a million such sources the pages still come before what is removed.
ROOM: Final = 1 << 40
LAST_FIRST: Final = 1 << 61


def outcome_of(error: Exception, task: Task, policy: RetryPolicy, chance: float) -> Outcome:
    """The outcome of a task whose handler raised `error`."""
    timed_out = isinstance(error, TimeoutError)
    error_class = ErrorClass.TIMEOUT if timed_out else ErrorClass.INTERNAL
    delay = retry_delay(error_class, task.attempt, policy, chance)
    if delay is not None:
        return Outcome(task.id, task.lane, task.claims, Verdict.RETRY, delay=delay, error_class=error_class)
    message = "took longer than a task may" if timed_out else f"{type(error).__name__} in its handler"
    if task.kind == Kind.PAGE:
        row = PageRow(
            task.seq,
            task.url,
            Verdict.FAILED,
            clock.now(),
            error_class=error_class,
            error_message=message,
            retry_count=task.attempt - 1,
            payload=task.payload or None,
        )
        return Outcome(task.id, task.lane, task.claims, Verdict.FAILED, (row,), error_class=error_class)
    if task.kind == Kind.FINISH:  # the job ends without its exports, rather than never
        end = EndJob(json.decode(task.payload)["job"], message)
        return Outcome(task.id, task.lane, task.claims, Verdict.FAILED, (end,), error_class=error_class)
    if task.kind == Kind.PLAN:
        first: int = json.decode(task.payload)["first_seq"]
        read = SourceRead(task.seq, 0, min(first + ROOM, LAST_FIRST), False, 1, message)
        return Outcome(task.id, task.lane, task.claims, Verdict.FAILED, (read,), error_class=error_class)
    return Outcome(task.id, task.lane, task.claims, Verdict.FAILED, error_class=error_class)
