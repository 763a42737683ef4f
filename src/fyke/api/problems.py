"""Whatever goes wrong becomes an envelope: the tree of core.errors, the framework's own, and bugs."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from fyke.api.envelope import problem
from fyke.core.errors import FykeError, UnknownName

__all__ = ["install"]

log = structlog.get_logger("fyke.api")

QUOTED: Final = re.compile(r"'([^']*)'")
CODES: Final = {408: "body_too_slow", 413: "body_too_large"}  # others are called what HTTP calls them
CUT_SHORT: Final = (408, 413)  # what is left of the body is not read: the connection is of no more use
SOON: Final = {429: "1", 503: "1"}  # when to come back, in seconds


def install(app: FastAPI) -> None:
    # The framework's type for handlers takes any exception, though each is called with its own kind.
    handlers: Mapping[type[Exception], Any] = {
        FykeError: _ours,
        HTTPException: _theirs,
        RequestValidationError: _invalid,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _ours(request: Request, error: FykeError) -> Response:
    headers = {}
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="fyke"'
    if error.status in SOON:
        headers["Retry-After"] = SOON[error.status]
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request_failed", code=error.code, reason=error.message, path=request.url.path)
    return problem(error.status, error.code, error.message, error.details, headers)


async def _theirs(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.BAD_REQUEST:  # the framework's word for a body that its reader breaks at
        return _not_valid([{"field": "body", "message": _unreadable(error.__cause__)}])
    message = error.detail if error.detail != status.phrase else status.description or status.phrase
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
        message = f"{request.method} is not possible here: use {headers['Allow']}"
    elif status in CUT_SHORT:
        headers["Connection"] = "close"
    elif status is HTTPStatus.NOT_FOUND:
        message = f"there is nothing at {request.url.path}"
    code = CODES.get(error.status_code, status.name.lower())
    return problem(status, code, message, None, headers)


def _methods(request: Request) -> list[str]:
    """All methods that the path knows: the router stops at the first route of it."""
    methods: set[str] = set()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
        scope = {
            "type": "http",
            "method": method,
            "path": request.url.path,
            "root_path": "",
            "app": request.app,
        }
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
            methods.add(method)
    return sorted(methods)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    models = _models(request)
    return _not_valid([_field(found, models) for found in error.errors()])


def _not_valid(fields: Sequence[Mapping[str, Any]]) -> Response:
    message = "; ".join(f"{field['field']}: {field['message']}" for field in fields[:3])
    return problem(422, "validation_error", message, {"fields": fields})


def _unreadable(why: BaseException | None) -> str:
    if isinstance(why, UnicodeDecodeError):
        return "its characters cannot be read: JSON in UTF-8 is expected"
    if isinstance(why, RecursionError):
        return "nested too deeply to be read"
    return "cannot be read: JSON is expected"


def _models(request: Request) -> Mapping[str, type[BaseModel]]:
    """The models of a route's inputs, by where they come from."""
    endpoint = request.scope.get("endpoint")
    found: dict[str, type[BaseModel]] = {}
    if endpoint is None:
        return found
    for name, parameter in inspect.signature(endpoint).parameters.items():
        for kind in _classes(parameter.annotation):
            found["body" if name == "body" else "query"] = kind
    return found


def _classes(annotation: Any) -> Iterable[type[BaseModel]]:
    """The models that an annotation names, however wrapped."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _classes(inner)


def _field(found: Mapping[str, Any], models: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    """One error, in a sentence that names what was expected."""
    loc: Sequence[Any] = found["loc"]
    message = str(found["msg"]).removeprefix("Value error, ")
    kind, given = found["type"], found.get("input")
    if kind == "json_invalid":
        return {"field": "body", "message": f"not JSON at character {loc[-1]}: {found['ctx']['error']}"}
    if len(loc) == 1 and kind == "model_attributes_type":
        how = "with `Content-Type: application/json` " if isinstance(given, bytes) else ""
        return {"field": str(loc[0]), "message": f"a JSON object {how}is expected"}
    name = ".".join(str(part) for part in (loc[1:] if len(loc) > 1 else loc))
    if kind == "uuid_parsing":
        what = name.removesuffix("_id")
        message = f"not the id of {'an' if what[0] in 'aeiou' else 'a'} {what}: a UUID is expected"
    if kind == "extra_forbidden":
        message = UnknownName("name", str(loc[-1]), _names(loc, models)).message
    elif kind == "literal_error" and isinstance(given, str):
        message = UnknownName(_one_of(loc), given, QUOTED.findall(found["ctx"]["expected"])).message
    return {"field": name, "message": message[:1].lower() + message[1:]}


def _one_of(loc: Sequence[Any]) -> str:
    """What a value is called in a sentence: an item of `strategies` is a strategy."""
    name = next(str(part) for part in reversed(loc) if isinstance(part, str))
    if name == loc[-1]:
        return name
    return f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")


def _names(loc: Sequence[Any], models: Mapping[str, type[BaseModel]]) -> list[str]:
    """What would have been right in the place of an unknown name."""
    model = models.get(str(loc[0]))
    for part in loc[1:-1]:
        field = model.model_fields.get(str(part)) if model else None
        model = next(iter(_classes(field.annotation)), None) if field else None
    return list(model.model_fields) if model else []
