"""Structured logs: JSON, or readable on a terminal. Secrets are taken out before anything is written."""

import logging
import re
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO, cast

import structlog

from fyke.core.secrets import redact

__all__ = ["configure"]

SECRET = re.compile(r"token|secret|passw|authorization|cookie|api_?key|credential", re.IGNORECASE)


def _redact_event(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        if SECRET.search(key):
            event[key] = "***"
        elif isinstance(value, str):
            event[key] = redact(value)
    return event


class Stderr:
    """Standard error as it is at the moment of writing: a progress bar puts itself there while it is shown,
    and lets lines through above it."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class Brief:
    """For a command that somebody watches: what became of a page, or of a robots.txt, is a short line. All of
    it is in the logs of a server."""

    def __init__(self, otherwise: Callable[[Any, str, MutableMapping[str, Any]], Any]) -> None:
        self.otherwise = otherwise

    def __call__(self, logger: Any, name: str, event: MutableMapping[str, Any]) -> Any:
        what = str(event.get("event", ""))
        if what.startswith(("page_", "robots_")) and "reason" in event:
            again = f"; asked again at {event['asked_again_at']}" if "asked_again_at" in event else ""
            return f"{what.removeprefix('page_')}: {event.get('url')}: {event['reason']}{again}"
        return self.otherwise(logger, name, event)


def configure(level: str, style: str, *, brief: bool = False) -> None:
    """Set logging up for this process, on standard error; `brief` is for what a person watches."""
    readable = style == "text" or (style == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,  # a text by now, so that it is redacted like any other
        _redact_event,
    ]
    # Never the pretty kind of traceback: it shows the values of variables, keys among them.
    console = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
    )
    told: Any = Brief(console) if brief else console
    renderer: Any = told if readable else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, Stderr())),
        cache_logger_on_first_use=True,
    )
    _bring_in_stdlib(level, shared, renderer)


def _bring_in_stdlib(level: str, before: list[Any], renderer: Any) -> None:
    """Libraries that log the standard way come out in the same form."""
    handler = logging.StreamHandler(Stderr())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("alembic", "asyncio", "uvicorn.access", "asyncmy"):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
