"""Tasks, the lanes they wait in, and the leases they are worked under."""

from typing import Final

from msgspec import Struct

__all__ = ["Batch", "JobInfo", "Kind", "LaneSpec", "NewTask", "Task", "WorkerInfo"]


class Kind:
    """What a task does: a worker has a handler for each that it can do. Nothing but measurements and tests
    has `noop` tasks."""

    PAGE: Final = "page"
    PLAN: Final = "plan"
    FINISH: Final = "finish"
    NOOP: Final = "noop"


class LaneSpec(Struct, frozen=True, gc=False):
    """A lane and its limits as the policy has them: a host, or a group of hosts that share a limit.

    `interval` is the time in µs between two starts (0: no limit), `burst` how many starts may be
    saved up, `cap` how many tasks may run at once (0: no limit).
    """

    key: str
    interval: int = 0
    burst: int = 1
    cap: int = 0


class NewTask(Struct, frozen=True, gc=False):
    """A task to be added to a job. `seq` is its place in the job's plan: exports keep that order."""

    kind: str
    seq: int
    lane: LaneSpec
    url: str = ""
    payload: bytes = b""
    dedupe: bytes | None = None
    delay: int = 0


class Task(Struct, frozen=True, gc=False):
    """A task under lease, as a handler gets it.

    `claims` counts how often it was claimed; with the lease it is the fence that a late outcome
    fails at. `wait` is how many µs after the claim the task may start (its slot in the lane's rate),
    `interval` the lane's time between starts.
    """

    id: int
    job: int
    lane: int
    kind: str
    seq: int
    url: str
    payload: bytes
    attempt: int
    claims: int
    wait: int = 0
    interval: int = 0
    alone: bool = False


class JobInfo(Struct, frozen=True, gc=False):
    """What a handler needs to know of its task's job. `options` is JobOptions as JSON."""

    id: int
    options: bytes
    definition: bytes = b""


class WorkerInfo(Struct, frozen=True, gc=False):
    """Who claims: shown to people, never used to decide."""

    name: str
    host: str
    pid: int


class Batch(Struct, frozen=True, gc=False):
    """What a claim gave. `retry_in` is how many µs to wait before it is worth asking again when it
    gave less than wanted; `suspects` says that tasks wait which must run alone."""

    tasks: list[Task]
    jobs: dict[int, JobInfo]
    retry_in: int = 0
    suspects: bool = False
