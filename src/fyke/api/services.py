"""What the API calls. Whoever starts a server hands these over, started, and stops them afterwards."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct
from prometheus_client import CollectorRegistry

from fyke.jobs.export import Register
from fyke.jobs.submit import JobRequest, Prepared
from fyke.objects.protocol import ObjectStore, Readable
from fyke.politeness.policies import Policies
from fyke.settings import Settings
from fyke.store.conn import Database

__all__ = ["UNWRITTEN", "EngineHealth", "Services", "Waiting", "Waking", "unwritten"]

T = TypeVar("T")

UNWRITTEN: Final = "results cannot be written"  # how the problem begins that stops every job


class Waking(Protocol):
    """Can be told that there is new work: see store.queue.SqlQueue."""

    def wake(self) -> None: ...


class Waiting(Protocol):
    """Can be waited on for something to have changed: see store.events.Bell."""

    @property
    def closed(self) -> bool:
        """Whether the server is stopping: nobody is to wait any more."""
        ...

    async def wait(self, timeout: float) -> None: ...


class EngineHealth(Struct, frozen=True):
    """What the parts beside the database say of themselves. `parts` is shown as it stands; `problems`
    are the reasons why they do not work as they should."""

    parts: Mapping[str, Any] = {}
    problems: tuple[str, ...] = ()
    lag: float | None = None  # of the event loop, in seconds


class Services(Protocol):
    """See the module."""

    @property
    def settings(self) -> Settings: ...

    @property
    def database(self) -> Database: ...

    @property
    def objects(self) -> ObjectStore: ...

    @property
    def bodies(self) -> Readable:
        """Where the bodies of pages are read, also from segments that are still open."""
        ...

    @property
    def policies(self) -> Policies: ...

    @property
    def queue(self) -> Waking: ...

    @property
    def changes(self) -> Waiting:
        """Wakes those who follow a job's events."""
        ...

    @property
    def registry(self) -> CollectorRegistry:
        """Where this process counts what it does."""
        ...

    async def submit(self, request: JobRequest) -> Prepared:
        """Check what is asked for, and make a job of it; nothing is in the database yet."""
        ...

    async def export(self, job: int, type: str, format: str, register: Register[T]) -> T:
        """Make an export of what the job has so far; what `register` gives, which takes it up."""
        ...

    async def health(self) -> EngineHealth: ...


async def unwritten(services: Services) -> str | None:
    """Why results cannot be written at the moment."""
    problems = (await services.health()).problems
    return next((text for text in problems if text.startswith(UNWRITTEN)), None)
