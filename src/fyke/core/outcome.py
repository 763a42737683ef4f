"""What a handler gives back: a verdict and the rows to write. Handlers write nothing themselves.

An effect is a plain value with the name of what it does. Settling applies all effects of a batch, each
kind in bulk, in the same transaction that completes the tasks: a result exists if and only if its task
is done.
"""

from typing import Final

from msgspec import Struct, field

from fyke.core.task import LaneSpec, NewTask

__all__ = [
    "AddSources",
    "AddTasks",
    "Change",
    "Compare",
    "Effect",
    "EndJob",
    "ForgetListings",
    "JobLog",
    "Outcome",
    "PageRow",
    "SaveChanges",
    "SaveExport",
    "SaveRobots",
    "Settled",
    "SlowLane",
    "Source",
    "SourceRead",
    "Verdict",
]


class Verdict:
    """How a task came out. The first four complete it; the others leave it in the queue."""

    SUCCEEDED: Final = "succeeded"
    FAILED: Final = "failed"
    SKIPPED: Final = "skipped"
    QUARANTINED: Final = "quarantined"

    RETRY: Final = "retry"  # back after `delay`, with one attempt more
    REQUEUE: Final = "requeue"  # back at its place after `delay`, no attempt counted
    CONTINUE: Final = "continue"  # part of the work is to be written; the task goes on under its lease


COMPLETING: Final = frozenset({Verdict.SUCCEEDED, Verdict.FAILED, Verdict.SKIPPED, Verdict.QUARANTINED})


class PageRow(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """The result of one URL of a job, good or bad. `data_full` and `data_seo` are JSON. A failure keeps
    the `payload` of its task: it is what a retry carries, too."""

    seq: int
    url: str
    state: str
    fetched_at: int
    final_url: str | None = None
    http_status: int | None = None
    title: str | None = None
    h1: str | None = None
    content_hash: str | None = None
    bytes_in: int = 0
    data_full: bytes | None = None
    data_seo: bytes | None = None
    error_class: str | None = None
    error_message: str | None = None
    retry_count: int = 0
    strategy_used: str | None = None
    proxy_used: str | None = None
    elapsed_ms: int = 0
    body_object: str | None = None
    body_offset: int = 0
    body_length: int = 0
    payload: bytes | None = None


class Compare(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """Compare what was read with the last snapshot of the URL, and keep it as the new one.

    `gone` says the page answered 404 or 410: it is REMOVED if there was a snapshot, and nothing if
    there was none. `data` is the target's data as JSON; title and h1 are compared besides."""

    seq: int
    url: str
    domain: str
    target: str
    at: int
    content_hash: str | None = None
    title: str | None = None
    h1: str | None = None
    data: bytes = b"{}"
    gone: bool = False


class Change(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """One row of a job's diff."""

    seq: int
    url: str
    change_type: str
    curr_at: int
    prev_at: int | None = None
    fields_changed: str = ""
    price_prev: str | None = None
    price_curr: str | None = None
    availability_prev: str | None = None
    availability_curr: str | None = None
    title_prev: str | None = None
    title_curr: str | None = None


class SaveChanges(Struct, frozen=True, tag_field="effect", tag=True):
    """Write rows of the diff of job `job` that no page of it carries: what is no longer listed. Their
    snapshots are forgotten."""

    job: int
    target: str
    changes: tuple[Change, ...]


class AddTasks(Struct, frozen=True, tag_field="effect", tag=True):
    """Add tasks to the job; a URL that it has seen already adds none."""

    tasks: tuple[NewTask, ...]


class Source(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """Something to read URLs from. `kind` is `list` (an object that holds lines), `sitemap` or `site`;
    `lane` is where its fetching waits."""

    kind: str
    location: str
    lane: LaneSpec
    depth: int = 0


class AddSources(Struct, frozen=True, tag_field="effect", tag=True):
    """More sources for the plan, to be read after those there are, in this order."""

    sources: tuple[Source, ...]


class SourceRead(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """A source has been read to its end (`complete`) or as far as it could be; `failed` says that it could
    not be had. `next_seq` is where the following one goes on counting. The next unread source becomes a
    task; with none left the plan is done."""

    number: int
    entries: int
    next_seq: int
    complete: bool
    warnings: int = 0
    message: str | None = None
    failed: bool = False


class SlowLane(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """The site asked for less: nothing before `pause` µs have passed; `halve` halves the rate for
    `duration` µs; `interval` is the least time between starts from now on (Crawl-delay)."""

    pause: int = 0
    halve: bool = False
    duration: int = 0
    interval: int = 0


class SaveRobots(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """The robots.txt of an origin as judged: `verdict` is rules, allow or disallow."""

    origin: str
    verdict: str
    body: bytes
    fetched_at: int
    expires_at: int


class SaveExport(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """An export has been written to the object store."""

    job: int
    id: int
    type: str
    format: str
    object: str
    size: int
    rows: int
    created_at: int


class ForgetListings(Struct, frozen=True, tag_field="effect", tag=True):
    """What these deleted jobs had listed is needed no more: a later list takes its place."""

    jobs: tuple[int, ...]


class JobLog(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """A line for who follows the task's job."""

    message: str


class EndJob(Struct, frozen=True, tag_field="effect", tag=True, gc=False):
    """The job's last work is done: give it the state it ends in."""

    job: int
    error_message: str | None = None


Effect = (
    PageRow
    | Compare
    | SaveChanges
    | AddTasks
    | AddSources
    | SourceRead
    | SlowLane
    | SaveRobots
    | SaveExport
    | ForgetListings
    | JobLog
    | EndJob
)


class Outcome(Struct, frozen=True):
    """How task `task` of lane `lane` came out of its claim number `claims`. `late` is how many µs after
    its slot it started; `delay` how many µs a retry waits; a requeued task may take a new `payload`, and wait
    in another lane, `to`, from then on."""

    task: int
    lane: int
    claims: int
    verdict: str
    effects: tuple[Effect, ...] = ()
    bytes_in: int = 0
    residential_bytes: int = 0
    delay: int = 0
    late: int = 0
    payload: bytes | None = None
    error_class: str | None = None
    to: LaneSpec | None = None


class Settled(Struct, frozen=True):
    """What became of a batch of outcomes: the tasks accepted (now or when sent before), those refused
    because their lease was lost, and by job why it takes no more URLs: told to those of its tasks that go
    on (`Verdict.CONTINUE`)."""

    accepted: list[int]
    refused: list[int]
    halted: dict[int, str] = field(default_factory=dict)
