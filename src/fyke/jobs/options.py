"""The options of a job, checked before anything is written."""

import math
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from fyke.core.errors import Invalid, InvalidUrl, Refused, UnknownName
from fyke.core.extras import PYARROW, how_to_install
from fyke.core.job import EXPORT_FORMATS, JobOptions
from fyke.core.urls import canonical
from fyke.egress.guard import Guard
from fyke.extract import TARGETS

__all__ = ["OPTION_NAMES", "STRATEGIES", "check_options", "options_from"]

STRATEGIES: Final = ("http",)
OPTION_NAMES: Final = tuple(field.name for field in msgspec.structs.fields(JobOptions))
LIMITS: Final = ("max_urls", "max_concurrency", "traffic_budget_mb", "residential_limit_mb", "time_limit_s")
LARGEST: Final = 1e9
HIGHEST_PRIORITY: Final = 10


def options_from(given: Mapping[str, Any]) -> JobOptions:
    """Options by their names; an unknown name, or a value of the wrong kind, is Invalid and named."""
    for name in given:
        if name not in OPTION_NAMES:
            raise UnknownName("option", str(name), OPTION_NAMES)
    try:
        return msgspec.convert(dict(given), JobOptions)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$.")
        field = where.rstrip("`").partition("[")[0] or "options"
        raise Invalid(f"{field}: {reason[:1].lower()}{reason[1:]}", field=field) from None


def check_options(options: JobOptions, guard: Guard) -> None:
    """Raise Invalid (or Refused, for a callback that the guard does not let through)."""
    if options.target not in TARGETS:
        raise UnknownName("target", options.target, TARGETS)
    for strategy in options.strategies:
        if strategy not in STRATEGIES:
            raise UnknownName("strategy", strategy, STRATEGIES)
    if not options.strategies:
        raise Invalid("a job needs at least one strategy", field="options.strategies")
    for format in options.exports:
        if format not in EXPORT_FORMATS:
            raise UnknownName("export format", format, EXPORT_FORMATS)
    if "parquet" in options.exports and find_spec("pyarrow") is None:
        raise Invalid(
            f"parquet needs pyarrow, which is not installed: {how_to_install(PYARROW)}",
            field="options.exports",
        )
    _check_limits(options)
    if not -HIGHEST_PRIORITY <= options.priority <= HIGHEST_PRIORITY:
        raise Invalid(
            f"priority must be from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY}, not {options.priority}",
            field="options.priority",
        )
    if options.schedule is not None:
        raise Invalid("there are no schedules yet: submit the job when it is due", field="options.schedule")
    if options.callback_url is not None:
        _check_callback(options.callback_url, guard)


def _check_callback(url: str, guard: Guard) -> None:
    field = "options.callback_url"
    try:
        canonical(url)
    except InvalidUrl as error:
        problem = {"field": field, "message": error.message}
        raise Invalid(f"{field}: {error.message}", fields=[problem]) from None
    verdict = guard.check_url(url)
    if not verdict.allowed:
        problem = {"field": field, "message": verdict.reason}
        raise Refused(f"{field}: {verdict.reason}", fields=[problem])


def _check_limits(options: JobOptions) -> None:
    for name in LIMITS:
        value = getattr(options, name)
        if not (math.isfinite(value) and 0 <= value <= LARGEST):
            raise Invalid(
                f"{name} must be from 0 (no limit) to {LARGEST:.0f}, not {value}", field=f"options.{name}"
            )
