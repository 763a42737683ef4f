"""Jobs: what was asked for, the states a job passes through, and what counts as its end."""

from typing import Final, Literal

from msgspec import Struct

__all__ = ["ENDED", "EXPORT_FORMATS", "EXPORT_TYPES", "STATES", "Counters", "JobOptions", "end_state"]

State = Literal["queued", "running", "cancelling", "succeeded", "partial", "failed", "stopped", "cancelled"]

STATES: Final = ("queued", "running", "cancelling", "succeeded", "partial", "failed", "stopped", "cancelled")
ENDED: Final = frozenset({"succeeded", "partial", "failed", "stopped", "cancelled"})
EXPORT_TYPES: Final = ("full", "seo", "diff")
EXPORT_FORMATS: Final = ("csv", "xlsx", "json", "jsonl", "parquet", "warc")


class JobOptions(Struct, frozen=True, omit_defaults=False, forbid_unknown_fields=True):
    """How a job is to be done. A budget of 0 is no limit."""

    target: str = "product"
    strategies: tuple[str, ...] = ("http",)
    max_urls: int = 10_000
    max_concurrency: int = 2
    allow_residential: bool = False
    traffic_budget_mb: float = 100
    residential_limit_mb: float = 50
    enable_firecrawl: bool = False
    time_limit_s: float = 0
    priority: int = 0
    schedule: str | None = None
    callback_url: str | None = None
    exports: tuple[str, ...] = ("csv", "xlsx", "json")


class Counters(Struct, frozen=True, gc=False):
    """How far a job is."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    bytes: int = 0
    residential_bytes: int = 0


def end_state(counters: Counters) -> State:
    """The state of a job whose every task is done: all well, none well, or some. What is not accounted for
    is not well."""
    done = counters.succeeded + counters.failed + counters.skipped
    if counters.failed == 0 and done >= counters.total:
        return "succeeded"
    return "failed" if counters.succeeded == 0 else "partial"
