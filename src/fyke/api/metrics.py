"""/metrics, for Prometheus: what this process counts, and what the database knows of the whole fleet.

Domains are bounded: the busiest have a label of their own, the others share one.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from fyke.api.health import PATIENCE, within
from fyke.api.inputs import Parts
from fyke.api.kept import Kept
from fyke.api.openapi import gives_file
from fyke.core.errors import StoreError
from fyke.core.job import STATES
from fyke.store.conn import Conn, Database
from fyke.store.health import WORKER_STATES, DomainLoad, Load, load_of, read_load

__all__ = ["KEPT", "Reading", "read_fleet", "router"]

router = APIRouter(tags=["operation"])

DOMAINS: Final = 50
KEPT: Final = 5.0  # seconds that a reading is good for

Reading = tuple[Load, list[DomainLoad]]


async def read_fleet(database: Database) -> Reading | None:
    """The fleet's state; None when the database cannot be asked: what this process counts is worth showing
    all the same."""
    try:
        return await within(PATIENCE, database.read(_read))
    except (StoreError, TimeoutError):
        return None


async def _read(conn: Conn) -> Reading:
    return await read_load(conn), await load_of(conn, DOMAINS)


class Fleet(Collector):
    """One reading as metrics."""

    def __init__(self, found: Reading | None) -> None:
        self.found = found

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "fyke_database_up", "Whether the database answers.", value=float(self.found is not None)
        )
        if self.found is not None:
            load, domains = self.found
            yield from _of_load(load)
            yield from _of_domains(domains)


def _of_load(load: Load) -> Iterator[Metric]:
    workers = GaugeMetricFamily("fyke_workers", "Workers by state.", labels=["state"])
    for state in WORKER_STATES:
        workers.add_metric([state], sum(lease.state == state for lease in load.leases))
    yield workers
    yield GaugeMetricFamily("fyke_tasks_leased", "Tasks that run, in the whole fleet.", value=load.running)
    yield GaugeMetricFamily("fyke_exports", "Exports that can be downloaded.", value=load.exports)
    depth = GaugeMetricFamily("fyke_queue_depth", "Tasks that wait or run, by kind.", labels=["kind"])
    age = GaugeMetricFamily("fyke_queue_age_seconds", "The age of the oldest task.", labels=["kind"])
    for queue in load.queues:
        depth.add_metric([queue.kind], queue.depth)
        age.add_metric([queue.kind], queue.age)
    jobs = GaugeMetricFamily("fyke_jobs", "Jobs by state.", labels=["state"])
    for job_state in STATES:
        jobs.add_metric([job_state], load.jobs.get(job_state, 0))
    yield from (depth, age, jobs)


def _of_domains(domains: Iterable[DomainLoad]) -> Iterator[Metric]:
    pages = GaugeMetricFamily(
        "fyke_domain_pages", "Pages of the jobs that are kept, by domain.", labels=["domain", "outcome"]
    )
    size = GaugeMetricFamily("fyke_domain_bytes", "Bytes of the jobs that are kept.", labels=["domain"])
    for load in domains:
        for outcome in ("succeeded", "failed", "skipped"):
            pages.add_metric([load.domain, outcome], getattr(load, outcome))
        size.add_metric([load.domain], load.bytes)
    yield from (pages, size)


@router.get("/metrics", **gives_file("Metrics in Prometheus' text format.", CONTENT_TYPE_LATEST))
async def metrics(request: Request, services: Parts) -> Response:
    """What there is to be counted."""
    reading: Kept[Reading | None] = request.app.state.fleet
    fleet = CollectorRegistry()
    fleet.register(Fleet(await reading.get()))
    return Response(
        generate_latest(services.registry) + generate_latest(fleet), media_type=CONTENT_TYPE_LATEST
    )
