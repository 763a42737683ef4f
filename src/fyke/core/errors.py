"""The tree of errors that reach a person. One sentence is docstring and default message.

FykeError
├── Invalid                 the caller's input is wrong (422)
│   ├── InvalidUrl
│   ├── InvalidSetting
│   └── UnknownName         names the nearest valid one
├── BadRequest              400
├── Authentication          401
├── Forbidden               403
├── NotFound                404
│   ├── JobNotFound, TaskNotFound, ExportNotFound, KeyNotFound
├── Conflict                409, for instance cancelling a job that has ended
├── QueueFull               429
├── Refused                 the egress guard says no
├── StoreError              the database cannot be used
│   ├── SchemaTooNew
│   ├── DiskFull
│   └── StoreBusy
└── LeaseLost               the lease is gone; its work belongs to somebody else
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Final

__all__ = [
    "Authentication",
    "BadRequest",
    "Conflict",
    "DiskFull",
    "ExportNotFound",
    "Forbidden",
    "FykeError",
    "Invalid",
    "InvalidSetting",
    "InvalidUrl",
    "JobNotFound",
    "KeyNotFound",
    "LeaseLost",
    "NotFound",
    "QueueFull",
    "Refused",
    "SchemaTooNew",
    "StoreBusy",
    "StoreError",
    "TaskNotFound",
    "UnknownName",
]


MOST_LISTED: Final = 25  # names in one line of a message


class FykeError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, **details: Any) -> None:
        self.message = message or (self.__doc__ or "").strip().splitlines()[0]
        self.details: Mapping[str, Any] = details
        super().__init__(self.message)


class Invalid(FykeError):
    """The input is not valid."""

    code = "validation_error"
    status = 422

    def __init__(self, message: str | None = None, *, field: str | None = None, **details: Any) -> None:
        if field is not None:
            details["fields"] = [{"field": field, "message": message or self.__doc__}]
        super().__init__(message, **details)


class InvalidUrl(Invalid):
    """The URL cannot be used."""

    code = "invalid_url"


class InvalidSetting(Invalid):
    """A setting is missing or wrong."""

    code = "invalid_setting"


class UnknownName(Invalid):
    """There is nothing of that name."""

    code = "unknown_name"

    def __init__(self, what: str, name: str, valid: Iterable[str]) -> None:
        valid = sorted(valid)
        folded = {name.lower(): name for name in valid}
        near = [folded[found] for found in get_close_matches(name.lower(), folded, n=1, cutoff=0.0)]
        hints = [f"did you mean {near[0]!r}?"] if near else []
        if len(valid) <= MOST_LISTED:
            hints.append(f"valid are {', '.join(valid)}")
        super().__init__(f"unknown {what} {name!r}: {' '.join(hints)}", field=what, nearest=near)


class BadRequest(FykeError):
    """The request cannot be served as it stands."""

    code = "bad_request"
    status = 400


class Authentication(FykeError):
    """A valid API key is needed."""

    code = "authentication_required"
    status = 401


class Forbidden(FykeError):
    """The API key's scopes do not allow this."""

    code = "forbidden"
    status = 403


class NotFound(FykeError):
    """There is no such thing."""

    code = "not_found"
    status = 404


class JobNotFound(NotFound):
    """There is no such job."""

    code = "job_not_found"


class TaskNotFound(NotFound):
    """There is no such task."""

    code = "task_not_found"


class ExportNotFound(NotFound):
    """There is no such export."""

    code = "export_not_found"


class KeyNotFound(NotFound):
    """There is no such API key."""

    code = "key_not_found"


class Conflict(FykeError):
    """The state of the thing does not allow this."""

    code = "conflict"
    status = 409


class QueueFull(FykeError):
    """The queue is full; try again later."""

    code = "queue_full"
    status = 429


class Refused(FykeError):
    """The egress guard refuses this address."""

    code = "egress_refused"
    status = 422


class StoreError(FykeError):
    """The database cannot be used."""

    code = "store_error"
    status = 503


class SchemaTooNew(StoreError):
    """The database was written by a newer version of Fyke."""

    code = "schema_too_new"


class DiskFull(StoreError):
    """The disk is full; free some space and resume."""

    code = "disk_full"
    status = 507


class StoreBusy(StoreError):
    """The database is busy; the same call may pass later."""

    code = "store_busy"


class LeaseLost(FykeError):
    """The lease has been lost; its tasks belong to another worker."""

    code = "lease_lost"
    status = 409
