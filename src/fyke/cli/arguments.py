"""Arguments and options that several commands take, read in one way."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any
from uuid import UUID

import typer

from fyke.core.errors import Invalid
from fyke.core.job import EXPORT_FORMATS

__all__ = ["FORMATS", "ExportId", "Formats", "JobId", "KeyId", "OneJob", "formats_of", "listed"]

FORMATS = ["csv,xlsx,json"]  # what a job writes at its end if nothing else is said


def _id_of(what: str) -> Callable[[str | None], str | None]:
    """Refuses what cannot be an id before anybody is asked for it."""

    def check(text: str | None) -> str | None:
        try:
            return text and str(UUID(text))
        except ValueError:
            article = "an" if what[0] in "aeiou" else "a"
            raise Invalid(
                f"{text!r} is not the id of {article} {what}: `fyke {what}s list` shows them", field=what
            ) from None

    return check


def listed(given: Iterable[str]) -> list[str]:
    """The values of an option that takes several: with commas, given again, or both."""
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def formats_of(given: Iterable[str]) -> list[str]:
    """The formats of an option."""
    formats = listed(given)
    if not formats:
        raise Invalid(f"--format: give one or more of {', '.join(EXPORT_FORMATS)}", field="--format")
    return list(dict.fromkeys(formats))


def _argument(what: str) -> Any:
    return typer.Argument(help=f"The {what}'s id.", callback=_id_of(what))


JobId = Annotated[str, _argument("job")]
ExportId = Annotated[str, _argument("export")]
KeyId = Annotated[str, _argument("key")]
OneJob = Annotated[str | None, typer.Option("--job", help="Only those of this job.", callback=_id_of("job"))]
Formats = Annotated[
    list[str],
    typer.Option(
        "--format",
        help=f"Formats of the exports, with commas or given again: {', '.join(EXPORT_FORMATS)}.",
    ),
]
