"""One JSON envelope for every answer: `success`, `data`, `error`, `meta`."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

import msgspec
from fastapi import Response
from msgspec import Struct

__all__ = ["REQUEST_ID", "Envelope", "Meta", "Paging", "Problem", "problem", "reply"]

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


class Paging(Struct, frozen=True):
    """Where a list goes on: `next` is the cursor of the following page, null at the end."""

    limit: int
    next: str | None


class Meta(Struct, frozen=True):
    """What belongs to the answer and not to the thing asked for."""

    request_id: str
    paging: Paging | None = None


class Problem(Struct, frozen=True):
    """What went wrong: a code for programs, a message for people, details such as the fields."""

    code: str
    message: str
    details: Mapping[str, Any]


class Envelope(Struct, Generic[T], frozen=True):
    """Every JSON answer."""

    success: bool
    data: T | None
    error: Problem | None
    meta: Meta


def reply(
    data: Any, status: int = 200, *, paging: Paging | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer that gives what was asked for."""
    envelope = Envelope(True, data, None, Meta(REQUEST_ID.get(), paging))
    return Response(_encode(envelope), status, dict(headers or {}), "application/json")


def problem(
    status: int,
    code: str,
    message: str,
    details: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An answer that says what went wrong."""
    envelope: Envelope[None] = Envelope(
        False, None, Problem(code, message, details or {}), Meta(REQUEST_ID.get())
    )
    return Response(_encode(envelope), status, dict(headers or {}), "application/json")
