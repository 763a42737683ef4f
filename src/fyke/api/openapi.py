"""The OpenAPI document: what every route answers, in success and in failure, is said in full.

A route declares its view (`gives`); its schema is made from the view itself, so the two cannot differ.
The failures that any route may have are added here once.
"""

from importlib.util import find_spec
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi

from fyke import __version__
from fyke.api.envelope import Meta, Problem

__all__ = ["Given", "gives", "gives_file", "install"]

REF: Final = "#/components/schemas/{name}"
PARTS: Final = "x-schemas"  # where a route keeps the schemas that its view needs, until they are collected
CONFLICTS: Final = "x-conflicts"
IDEMPOTENT: Final = "x-idempotency-key"
REQUEST_ID: Final[dict[str, Any]] = {
    "X-Request-ID": {
        "description": "The request's id: the caller's, if that was a UUID.",
        "schema": {"type": "string", "format": "uuid"},
    }
}
FAILURES: Final = {
    "400": "The request cannot be read.",
    "401": "A valid API key is needed.",
    "403": "The key's scopes do not allow this.",
    "404": "There is no such thing.",
    "405": "The path does not know this method.",
    "408": "The body did not come in time.",
    "409": "The state of the thing does not allow this.",
    "413": "The body is too large.",
    "416": "The export does not have these bytes.",
    "422": "The input is not valid; `details.fields` says where.",
    "429": "Too much waits already.",
    "500": "Something went wrong here; the log has it under the request's id.",
    "503": "The database or the object store cannot be used at the moment.",
    "507": "The disk is full.",
}
ALWAYS: Final = ("500", "503")
WITH_KEY: Final = ("401", "403")
WRITING: Final = ("400", "408", "413", "429", "507")
SECURITY: Final = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "`Authorization: Bearer fyke_…`"},
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "serviceKey": {"type": "apiKey", "in": "header", "name": "X-Service-Key"},
}
ABOUT: Final = """\
Every answer below `/api/v1` is one envelope: `success`, `data`, `error` (`code`, `message`, `details`) and
`meta` (`request_id`, `paging`).

Send an API key as `Authorization: Bearer`, `X-Api-Key` or `X-Service-Key`. A key has scopes: `read` looks,
`submit` makes and changes jobs, `admin` may do everything.

Ids are UUIDs: a malformed one is 422, one that names nothing is 404. Lists are paged by cursor: pass
`meta.paging.next` as `cursor` until it is null."""

ONCE: Final = """\
With the header `Idempotency-Key` (up to 255 visible ASCII characters) the request can be sent again
safely: for 24 hours the same key and body give the same answer, marked `Idempotency-Replayed: true`, and
nothing is created twice. The same key with another body is refused (422, `idempotency_mismatch`)."""


class Given(dict[str, Any]):
    """Keywords for a route's decorator."""


def gives(
    view: Any,
    status: int,
    description: str,
    *,
    conflicts: bool = False,
    creates: bool = False,
    enveloped: bool = True,
    also: int | None = None,
) -> Given:
    """A route that answers `status` with what `view` describes; `conflicts` if its state may forbid it;
    `creates` if it takes an Idempotency-Key; `also` is a status that it answers in the same form."""
    (schema, *_), parts = msgspec.json.schema_components([view, Problem, Meta], ref_template=REF)
    headers: dict[str, Any] = {}
    if creates:
        headers["Idempotency-Replayed"] = {
            "description": "`true` when the answer was given before.",
            "schema": {"type": "string", "enum": ["true"]},
        }
    answer = {
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": _success(schema) if enveloped else schema}},
    }
    return Given(
        status_code=status,
        response_model=None,
        responses={status: answer} | ({also: answer | {"description": "It cannot."}} if also else {}),
        openapi_extra={PARTS: parts, CONFLICTS: conflicts, IDEMPOTENT: creates},
    )


def gives_file(description: str, *kinds: str, ranges: bool = False) -> Given:
    """A route that answers 200 with bytes of one of the media types, or 206 with some of them."""
    answer = {"description": description, "content": {kind: {"schema": {}} for kind in kinds}}
    responses: dict[int, Any] = {200: answer}
    if ranges:
        responses |= {206: answer, 416: {"$ref": "#/components/responses/416"}}
    return Given(
        response_class=Response,
        response_model=None,
        responses=responses,
        openapi_extra={PARTS: {}, CONFLICTS: False, IDEMPOTENT: False},
    )


def _success(schema: Any) -> dict[str, Any]:
    return _envelope({"const": True}, schema, {"type": "null"})


def _envelope(success: Any, data: Any, error: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["success", "data", "error", "meta"],
        "properties": {
            "success": success,
            "data": data,
            "error": error,
            "meta": {"$ref": REF.format(name="Meta")},
        },
    }


def install(app: FastAPI) -> None:
    """Make the document once, when it is first asked for."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(
                get_openapi(title="Fyke", version=__version__, description=ABOUT, routes=app.routes)
            )
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's own way to replace it


def _complete(document: dict[str, Any]) -> dict[str, Any]:
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Failure"] = _envelope({"const": False}, {"type": "null"}, {"$ref": REF.format(name="Problem")})
    components["securitySchemes"] = SECURITY
    components["responses"] = {
        status: {
            "description": description,
            "headers": REQUEST_ID | _failure_headers(status),
            "content": {"application/json": {"schema": {"$ref": REF.format(name="Failure")}}},
        }
        for status, description in FAILURES.items()
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            schemas.update(operation.pop(PARTS, {}))
            _complete_operation(path, method, operation)
    if find_spec("pyarrow") is None:
        _without("parquet", document)
    return document


def _without(value: str, node: Any) -> None:
    """Take what cannot be done here out of all that may be chosen."""
    if isinstance(node, dict):
        if isinstance(node.get("enum"), list):
            node["enum"] = [one for one in node["enum"] if one != value]
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            _without(value, one)


def _failure_headers(status: str) -> dict[str, Any]:
    if status == "416":
        return {"Content-Range": {"description": "How many bytes there are.", "schema": {"type": "string"}}}
    if status == "401":
        return {"WWW-Authenticate": {"description": "How to send a key.", "schema": {"type": "string"}}}
    return {}


def _complete_operation(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add the failures that are possible here, and the key that is needed."""
    conflicts = operation.pop(CONFLICTS, False)
    if operation.pop(IDEMPOTENT, False):
        operation["description"] += f"\n\n{ONCE}"
        operation[IDEMPOTENT] = {"header": "Idempotency-Key", "maxLength": 255, "kept": "24 h"}
    possible = list(ALWAYS)
    if path.startswith("/api/"):
        possible += WITH_KEY
        operation["security"] = [{name: []} for name in SECURITY]
    else:
        operation["security"] = []
    if "{" in path:
        possible += ["404", "422"]
    if "parameters" in operation or "requestBody" in operation:
        possible.append("422")
    if method != "get" and path.startswith("/api/"):
        possible += WRITING
    if conflicts:
        possible.append("409")
    for parameter in operation.get("parameters", ()):
        _say_absent(parameter["schema"])
    responses = operation["responses"]
    responses.pop("422", None)
    for answer in responses.values():
        if "$ref" not in answer:
            answer["headers"] = REQUEST_ID | answer.get("headers", {})
    for status in sorted(set(possible)):
        responses.setdefault(status, {"$ref": f"#/components/responses/{status}"})


def _say_absent(schema: dict[str, Any]) -> None:
    """A parameter that may be left out is never null: there is no way to write that."""
    kinds = schema.pop("anyOf", None)
    if kinds is not None:
        (kind,) = (kind for kind in kinds if kind != {"type": "null"})
        schema.update(kind)
