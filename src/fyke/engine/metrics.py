"""What the engine counts. One registry, made by the composition root."""

from collections import deque
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fyke.core.outcome import Outcome

__all__ = ["EngineMetrics"]


class EngineMetrics:
    """The engine's metrics in a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.tasks = Counter(
            "fyke_tasks",
            "Tasks by kind, outcome and error class.",
            ["kind", "verdict", "error"],
            registry=registry,
        )
        self.seconds = Histogram(
            "fyke_task_seconds",
            "Seconds from a task's start to its outcome.",
            ["kind"],
            registry=registry,
            buckets=(0.005, 0.02, 0.1, 0.5, 2, 10, 60),
        )
        self.bytes = Counter("fyke_bytes", "Bytes received from targets.", registry=registry)
        self.refused = Counter(
            "fyke_late_outcomes", "Outcomes dropped because their lease was lost.", registry=registry
        )
        self.takeovers = Counter(
            "fyke_lease_takeovers", "Tasks taken over from workers that died.", registry=registry
        )
        self.running = Gauge("fyke_tasks_running", "Tasks that run in this process.", registry=registry)
        self.settled = Histogram(
            "fyke_settle_outcomes",
            "Outcomes settled in one transaction.",
            registry=registry,
            buckets=(1, 5, 20, 50, 100, 200),
        )
        self.lag = Histogram(
            "fyke_event_loop_lag_seconds",
            "How late the event loop was.",
            registry=registry,
            buckets=(0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 2),
        )
        self.lag_worst = 0.0
        self._lags: deque[float] = deque(maxlen=300)  # ten a second
        self._seconds_of: dict[str, Histogram] = {}

    def took(self, kind: str, seconds: float) -> None:
        """A task of this kind took so long."""
        child = self._seconds_of.get(kind)
        if child is None:
            child = self._seconds_of[kind] = self.seconds.labels(kind)
        child.observe(seconds)

    def count(self, settled: Iterable[tuple[str, Outcome]]) -> None:
        """Count a batch at once: a counter costs more than what it counts."""
        tallies: dict[tuple[str, str, str], int] = {}
        received = 0
        for kind, outcome in settled:
            key = (kind, outcome.verdict, outcome.error_class or "")
            tallies[key] = tallies.get(key, 0) + 1
            received += outcome.bytes_in
        for key, n in tallies.items():
            self.tasks.labels(*key).inc(n)
        self.bytes.inc(received)

    def observe_lag(self, seconds: float) -> None:
        self.lag.observe(seconds)
        self.lag_worst = max(self.lag_worst, seconds)
        self._lags.append(seconds)

    @property
    def lag_lately(self) -> float:
        """The longest of the last half minute: what was worse before is over."""
        return max(self._lags, default=0.0)
