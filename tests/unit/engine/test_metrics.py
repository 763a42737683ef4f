"""What several processes have counted, told as one."""

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from fyke.core.outcome import Outcome, Verdict
from fyke.engine.metrics import EngineMetrics, Tallies


def counting(succeeded: int, seconds: float) -> EngineMetrics:
    metrics = EngineMetrics(CollectorRegistry())
    done = [("page", Outcome(n, 1, 1, Verdict.SUCCEEDED, bytes_in=10)) for n in range(succeeded)]
    metrics.settled([*done, ("page", Outcome(0, 1, 1, Verdict.FAILED, error_class="timeout"))])
    metrics.took("page", seconds)
    metrics.came_late(2)
    metrics.running = lambda: 3
    return metrics


def told(metrics: EngineMetrics) -> Tallies:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(metrics.report()), type=Tallies)


def test_workers_reports_count_once_however_often_they_come_and_stay_when_they_are_gone() -> None:
    registry = CollectorRegistry()
    server = EngineMetrics(registry)
    one, two = counting(5, 0.01), counting(7, 30)
    for place, worker in ((0, one), (1, two), (0, one)):
        server.heard(place, told(worker))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, labels)

    def check() -> None:
        assert value("fyke_tasks_total", kind="page", verdict="succeeded", error="") == 12
        assert value("fyke_tasks_total", kind="page", verdict="failed", error="timeout") == 2
        assert value("fyke_bytes_total") == 120
        assert value("fyke_late_outcomes_total") == 4
        assert value("fyke_task_seconds_bucket", kind="page", le="0.02") == 1
        assert value("fyke_task_seconds_bucket", kind="page", le="60.0") == 2
        assert value("fyke_task_seconds_count", kind="page") == 2
        assert value("fyke_settle_outcomes_sum") == 14

    check()
    assert value("fyke_tasks_running") == 6
    server.ended(0)
    server.ended(0)
    check()
    assert value("fyke_tasks_running") == 3
    server.heard(0, told(counting(1, 0.01)))  # the next in its place begins from nothing
    assert value("fyke_tasks_total", kind="page", verdict="succeeded", error="") == 13


def test_a_value_at_a_bound_is_within_it() -> None:
    registry = CollectorRegistry()
    metrics = EngineMetrics(registry)
    metrics.took("page", 0.1)
    metrics.took("page", 61)
    labels = {"kind": "page"}
    buckets = [
        registry.get_sample_value("fyke_task_seconds_bucket", {**labels, "le": le})
        for le in ("0.02", "0.1", "60.0", "+Inf")
    ]
    assert buckets == [0, 1, 1, 2]
    assert registry.get_sample_value("fyke_task_seconds_sum", labels) == 61.1


def test_a_worker_process_tells_why_it_cannot_settle_for_as_long_as_it_cannot() -> None:
    server, worker = EngineMetrics(CollectorRegistry()), counting(1, 0.01)
    server.heard(0, told(worker))
    assert server.problem_of_others() == ""
    worker.problem = lambda: "the disk is full"
    server.heard(0, told(worker))
    assert server.problem_of_others() == "the disk is full"
    assert server.problem() == ""
    server.ended(0)
    assert server.problem_of_others() == ""


def test_a_worker_process_that_says_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("fyke.engine.metrics.monotonic", lambda: now)
    server = EngineMetrics(CollectorRegistry())
    for place in (0, 1):
        server.heard(place, Tallies())
    assert server.silent(10) == 0
    now = 109.0
    server.heard(1, Tallies())
    now = 111.0
    assert server.silent(10) == 1
    server.ended(0)
    assert server.silent(10) == 0
