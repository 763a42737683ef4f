"""What the engine counts: plain numbers, which worker processes can tell their server, and which become
metrics when somebody asks for them."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import Final

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from fyke.core.clock import monotonic
from fyke.core.outcome import Outcome

__all__ = ["EngineMetrics", "Tallies"]

SECONDS: Final = (0.005, 0.02, 0.1, 0.5, 2, 10, 60)
OUTCOMES: Final = (1, 5, 20, 50, 100, 200, 400)
LAGS: Final = (0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 2)


class Spread(Struct):
    """Values by size: how many there were up to each bound, and beyond the last; and their sum."""

    counts: list[int]
    total: float = 0.0

    def add(self, bounds: tuple[float, ...], value: float) -> None:
        self.counts[bisect_left(bounds, value)] += 1
        self.total += value

    def join(self, other: "Spread") -> None:
        self.counts = [mine + more for mine, more in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


def spread(bounds: tuple[float, ...]) -> Spread:
    return Spread([0] * (len(bounds) + 1))


class Tallies(Struct):
    """What a process has counted since it started; `tasks` goes by kind, verdict and error class. `problem`
    is why it cannot settle just now, if it cannot."""

    tasks: dict[tuple[str, str, str], int] = field(default_factory=dict)
    seconds: dict[str, Spread] = field(default_factory=dict)
    settled: Spread = field(default_factory=lambda: spread(OUTCOMES))
    bytes: int = 0
    late: int = 0
    takeovers: int = 0
    running: int = 0
    problem: str = ""

    def join(self, other: "Tallies") -> None:
        for key, count in other.tasks.items():
            self.tasks[key] = self.tasks.get(key, 0) + count
        for kind, more in other.seconds.items():
            self.seconds.setdefault(kind, spread(SECONDS)).join(more)
        self.settled.join(other.settled)
        self.bytes += other.bytes
        self.late += other.late
        self.takeovers += other.takeovers
        self.running += other.running


class EngineMetrics(Collector):
    """The engine's metrics in a registry of their own: of this process and of those that report to it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.running: Callable[[], int] = int
        self.problem: Callable[[], str] = str
        self.lag_worst = 0.0
        self._mine = Tallies()
        self._others: dict[int, Tallies] = {}
        self._heard_at: dict[int, float] = {}
        self._gone = Tallies()  # what processes that have ended had counted
        self._lag = spread(LAGS)
        self._lags: deque[float] = deque(maxlen=300)  # ten a second
        registry.register(self)

    # --- counting ---

    def took(self, kind: str, seconds: float) -> None:
        """A task of this kind took so long."""
        found = self._mine.seconds.get(kind)
        if found is None:
            found = self._mine.seconds[kind] = spread(SECONDS)
        found.add(SECONDS, seconds)

    def settled(self, outcomes: Iterable[tuple[str, Outcome]]) -> None:
        """Outcomes, with their tasks' kinds, were settled in one transaction."""
        mine, count = self._mine, 0
        for kind, outcome in outcomes:
            key = (kind, outcome.verdict, outcome.error_class or "")
            mine.tasks[key] = mine.tasks.get(key, 0) + 1
            mine.bytes += outcome.bytes_in
            count += 1
        mine.settled.add(OUTCOMES, count)

    def came_late(self, outcomes: int) -> None:
        self._mine.late += outcomes

    def took_over(self, tasks: int) -> None:
        self._mine.takeovers += tasks

    def observe_lag(self, seconds: float) -> None:
        self._lag.add(LAGS, seconds)
        self.lag_worst = max(self.lag_worst, seconds)
        self._lags.append(seconds)

    @property
    def lag_lately(self) -> float:
        """The longest of the last half minute: what was worse before is over."""
        return max(self._lags, default=0.0)

    # --- of several processes ---

    def report(self) -> Tallies:
        """What this process has counted."""
        self._mine.running, self._mine.problem = self.running(), self.problem()
        return self._mine

    def heard(self, place: int, tallies: Tallies) -> None:
        """A worker process reports; it does so again and again, with all since it started."""
        self._others[place] = tallies
        self._heard_at[place] = monotonic()

    def ended(self, place: int) -> None:
        """The worker process of that place is gone; what it had counted stays."""
        self._heard_at.pop(place, None)
        tallies = self._others.pop(place, None)
        if tallies is not None:
            tallies.running = 0
            self._gone.join(tallies)

    def silent(self, seconds: float) -> int:
        """How many worker processes have not reported for so long."""
        return sum(monotonic() - at > seconds for at in self._heard_at.values())

    def problem_of_others(self) -> str:
        """Why a worker process cannot settle, if one cannot."""
        return next((tallies.problem for tallies in self._others.values() if tallies.problem), "")

    def collect(self) -> Iterator[Metric]:
        found = Tallies()
        for tallies in (self._gone, self.report(), *self._others.values()):
            found.join(tallies)
        yield from _of(found)
        lag = HistogramMetricFamily("fyke_event_loop_lag_seconds", "How late the event loop was.")
        lag.add_metric([], _buckets(LAGS, self._lag), self._lag.total)
        yield lag


def _of(found: Tallies) -> Iterator[Metric]:
    tasks = CounterMetricFamily(
        "fyke_tasks", "Tasks by kind, outcome and error class.", labels=["kind", "verdict", "error"]
    )
    for key, count in found.tasks.items():
        tasks.add_metric(list(key), count)
    yield tasks
    seconds = HistogramMetricFamily(
        "fyke_task_seconds", "Seconds from a task's start to its outcome.", labels=["kind"]
    )
    for kind, one in found.seconds.items():
        seconds.add_metric([kind], _buckets(SECONDS, one), one.total)
    yield seconds
    settled = HistogramMetricFamily("fyke_settle_outcomes", "Outcomes settled in one transaction.")
    settled.add_metric([], _buckets(OUTCOMES, found.settled), found.settled.total)
    yield settled
    yield CounterMetricFamily("fyke_bytes", "Bytes received from targets.", value=found.bytes)
    yield CounterMetricFamily(
        "fyke_late_outcomes", "Outcomes dropped because their lease was lost.", value=found.late
    )
    yield CounterMetricFamily(
        "fyke_lease_takeovers", "Tasks taken over from workers that died.", value=found.takeovers
    )
    yield GaugeMetricFamily(
        "fyke_tasks_running", "Tasks that run in this process and its worker processes.", value=found.running
    )


def _buckets(bounds: tuple[float, ...], found: Spread) -> list[tuple[str, float]]:
    names = [*(str(float(bound)) for bound in bounds), "+Inf"]
    return list(zip(names, accumulate(found.counts), strict=True))
