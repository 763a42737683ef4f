"""What the API takes: validated strictly, with nothing unknown let through."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from fyke.api.cursor import CURSOR
from fyke.api.urls import MAX_URL, URL
from fyke.core.clock import from_iso
from fyke.core.errors import UnknownName
from fyke.core.job import EXPORT_FORMATS, JobOptions
from fyke.store.retry_job import ERROR_CLASSES

__all__ = [
    "Budgets",
    "ChangesQuery",
    "ExportBody",
    "JobBody",
    "JobsQuery",
    "KeyBody",
    "ListQuery",
    "OptionsBody",
    "PagesQuery",
    "ResumeBody",
    "RetryBody",
]

LARGEST: Final = 1_000_000_000
TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _moment(text: str) -> str:
    if not TIME.fullmatch(text):
        raise ValueError("a time such as 2026-03-01T09:30:00Z is expected, with its zone")
    try:
        from_iso(text.upper())
    except ValueError:
        raise ValueError(f"there is no such time as {text}") from None
    return text


Cursor = Annotated[
    str,
    Field(description="Where to go on: `meta.paging.next` of the page before.", pattern=CURSOR),
]
Limit = Annotated[int, Field(ge=1, le=500, description="How many to give at most.")]
Moment = Annotated[
    str,
    AfterValidator(_moment),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
PRINTED: Final = r"^[^\x00-\x1f\x7f]+$"
Word = Annotated[str, Field(min_length=1, max_length=255, pattern=PRINTED)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=PRINTED)]
URL_SCHEMA: Final = {
    "type": "string",
    "pattern": URL,
    "maxLength": MAX_URL,
    "description": "An http or https URL. Addresses in place of host names need the operator's leave.",
    "examples": ["https://shop.example/1"],
}
Url = Annotated[str, WithJsonSchema(URL_SCHEMA)]


NO_EFFECT: Final = "It is kept, and has no effect yet."


def _whole(value: Any) -> Any:
    """JSON knows one kind of number: 2.0 is as whole as 2."""
    return int(value) if type(value) is float and value.is_integer() else value


def _no_schedule(value: Any) -> None:
    if value is not None:
        raise ValueError("there are no schedules yet: submit the job when it is due")


def _error_class(name: str) -> str:
    if name not in ERROR_CLASSES:
        raise UnknownName("error_class", name, ERROR_CLASSES)
    return name


Amount = Annotated[int, Field(ge=0, le=LARGEST), BeforeValidator(_whole)]
Priority = Annotated[int, Field(ge=-10, le=10), BeforeValidator(_whole)]
ErrorClassName = Annotated[
    str, AfterValidator(_error_class), WithJsonSchema({"type": "string", "enum": list(ERROR_CLASSES)})
]
Large = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]

State = Literal["queued", "running", "cancelling", "succeeded", "partial", "failed", "stopped", "cancelled"]
PageState = Literal["queued", "succeeded", "failed", "skipped", "quarantined"]
ChangeType = Literal["ADDED", "REMOVED", "MODIFIED", "UNCHANGED", "CHANGED"]
ExportType = Literal["full", "seo", "diff"]
ExportFormat = Literal["csv", "xlsx", "json", "jsonl", "parquet", "warc"]
Scope = Literal["admin", "submit", "read", "worker"]


class Strict(BaseModel):
    """Nothing is guessed: a number is not a text, and an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Query(BaseModel):
    """Parameters come as text, so they are read as what they are meant to be."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OptionsBody(Strict):
    """How a job is to be done. A budget of 0 is no limit."""

    target: Literal["page", "product"] = Field(
        default="product", description="What is read from a page: a product, or what any page has."
    )
    strategies: list[Literal["http"]] = Field(default=["http"], min_length=1, max_length=1)
    max_urls: Amount = 10_000
    max_concurrency: Amount = Field(default=2, description="Tasks that run at once; 0: no limit.")
    allow_residential: bool = Field(default=False, description=f"Residential proxies. {NO_EFFECT}")
    traffic_budget_mb: Large = 100
    residential_limit_mb: Large = Field(default=50, description=f"By residential proxies. {NO_EFFECT}")
    enable_firecrawl: bool = Field(default=False, description=f"A hosted service to fetch by. {NO_EFFECT}")
    time_limit_s: Large = 0
    priority: Priority = Field(default=0, description="10 goes first.")
    schedule: Annotated[None, BeforeValidator(_no_schedule)] = Field(
        default=None, description="There are no schedules yet."
    )
    callback_url: Url | None = Field(default=None, description=f"Who is told of the end. {NO_EFFECT}")
    exports: list[ExportFormat] = Field(
        default=["csv", "xlsx", "json"], max_length=6, description="Formats written when the job ends."
    )

    def options(self) -> JobOptions:
        values = self.model_dump()
        return JobOptions(
            **values | {"strategies": tuple(self.strategies), "exports": tuple(dict.fromkeys(self.exports))}
        )


SOURCES: Final = ("urls", "sitemap_url", "site_url")


def _one_source(schema: dict[str, Any]) -> None:
    """Say what a type cannot: one source, and every line of a list a URL, or at least one if the others
    are left out."""
    any_line: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    schema["properties"]["urls"] |= {"anyOf": [any_line, {"type": "null"}]}
    every = {"properties": {"urls": {"items": URL_SCHEMA}}}
    some = {
        "required": ["skip_invalid"],
        "properties": {"skip_invalid": {"const": True}, "urls": {"contains": URL_SCHEMA}},
    }
    ways = {"urls": {"type": "array"}, "sitemap_url": {"type": "string"}, "site_url": {"type": "string"}}
    schema["oneOf"] = [
        {
            "required": [name],
            "properties": {name: way} | {other: {"type": "null"} for other in SOURCES if other != name},
        }
        for name, way in ways.items()
    ]
    schema["oneOf"][0]["anyOf"] = [every, some]


class JobBody(Strict):
    """What a job is made of: exactly one of a list of URLs, a sitemap, or a site."""

    model_config = ConfigDict(json_schema_extra=_one_source)

    urls: list[Url] | None = Field(
        default=None, min_length=1, description="The URLs, in the order of the exports."
    )
    sitemap_url: Url | None = Field(default=None, description="A sitemap or an index of them, gzip'd or not.")
    site_url: Url | None = Field(
        default=None, description="A site whose sitemaps are found through robots.txt."
    )
    name: Word | None = Field(default=None, description="Lists of one name are crawls of the same thing.")
    domain: Word | None = Field(
        default=None, description="What the job is filed under, any words; the host by default."
    )
    skip_invalid: bool = Field(
        default=False, description="Leave out lines that are no URL instead of refusing all."
    )
    options: OptionsBody = OptionsBody()

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of {', '.join(SOURCES)} is expected, not {len(given)}")
        return self


class Budgets(Strict):
    """New limits for a job that goes on; what is left out stays as it was."""

    max_urls: Amount | None = None
    max_concurrency: Amount | None = None
    traffic_budget_mb: Large | None = None
    residential_limit_mb: Large | None = Field(
        default=None, description=f"By residential proxies. {NO_EFFECT}"
    )
    time_limit_s: Large | None = None

    def given(self) -> Mapping[str, Any]:
        return self.model_dump(exclude_none=True)


class ResumeBody(Strict):
    """How to go on."""

    options: Budgets = Budgets()


class RetryBody(Strict):
    """Which failures to run again; all, when nothing is said."""

    error_class: ErrorClassName | None = None
    host: Word | None = None


def _whole_pages(schema: dict[str, Any]) -> None:
    """WARC holds whole pages: there is only a full export of it."""
    tables = [name for name in EXPORT_FORMATS if name != "warc"]
    schema["anyOf"] = [
        {"properties": {"type": {"const": "full"}}},
        {"properties": {"format": {"enum": tables}}},
    ]


class ExportBody(Strict):
    """Which export to make."""

    model_config = ConfigDict(json_schema_extra=_whole_pages)

    type: ExportType
    format: ExportFormat


class KeyBody(Strict):
    """A key to be made."""

    name: Name = Field(description="What people call it.")
    scopes: list[Scope] = Field(default=["submit", "read"], min_length=1, max_length=4)


class ListQuery(Query):
    """Any list."""

    limit: Limit = 50
    cursor: Cursor | None = None


class JobsQuery(ListQuery):
    """Which jobs to list."""

    domain: Word | None = None
    state: State | None = None
    created_from: Moment | None = Field(default=None, description="Made at this time or later.")
    created_to: Moment | None = Field(default=None, description="Made before this time.")


class PagesQuery(ListQuery):
    """Which pages to list."""

    state: PageState | None = None
    error_class: ErrorClassName | None = None


class ChangesQuery(ListQuery):
    """Which changes to list."""

    change_type: ChangeType | None = Field(
        default=None, description="CHANGED: all but UNCHANGED. Without it, all."
    )
