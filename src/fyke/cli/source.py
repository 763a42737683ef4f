"""The SOURCE of a command: a page, a site, a sitemap, or a file of URLs; and how the API is asked for it,
which does not read this machine's files."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from fyke.core.errors import FykeError, Invalid, Refused, UnknownName
from fyke.core.urls import NOT_UTF8, is_utf8
from fyke.jobs.submit import file_lines
from fyke.settings import no_file

__all__ = ["Asked", "asked_for", "kind_of"]

KINDS = ("list", "page", "site", "sitemap")
HOST = re.compile(r"(?:[\w-]+\.)*(?P<last>[\w-]+)(?::[0-9]+)?(?:[/?].*)?")
FILES = {"csv", "gz", "json", "jsonl", "list", "lst", "tsv", "txt", "urls", "xml"}  # no ends of host names


class Asked(Struct, frozen=True):
    """The body of a request for a job. Of a file: the lines that its URLs are from, and those that cannot be
    sent, for they are no text."""

    body: dict[str, Any]
    file: str = ""
    lines: list[int] = []
    unsent: list[int] = []

    def in_file(self, error: Invalid | Refused) -> FykeError:
        """What is wrong with items of a list, said of the lines that they are from."""
        message, fields = error.message, []
        for field in error.details.get("fields", ()):
            item = field["field"].removeprefix("urls.")
            if self.lines and item.isdigit():
                line = self.lines[int(item)]
                message = message.replace(f"urls, line {int(item) + 1}:", f"{self.file}, line {line}:")
                field = {"field": f"file.{line}", "message": field["message"]}
            fields.append(field)
        return type(error)(message, fields=fields)

    def told(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """The job that was made, with what was left out said of the lines of the file."""
        left_out: list[dict[str, Any]] = [
            {**one, "line": self.lines[one["line"] - 1]} if self.lines else one
            for one in job["left_out_lines"]
        ]
        left_out += [{"line": line, "text": "", "reason": NOT_UTF8} for line in self.unsent]
        left_out.sort(key=lambda one: int(one["line"]))
        return {**job, "left_out": job["left_out"] + len(self.unsent), "left_out_lines": left_out}


def kind_of(source: str, kind: str | None) -> str:
    """What kind of source it is: as it is called, or else as it looks."""
    if not source.strip():
        raise Invalid("SOURCE is empty: give a page, a site, a sitemap, or a file of URLs", field="SOURCE")
    kind = kind or _guess(source)
    if kind not in KINDS:
        raise UnknownName("--as", kind, KINDS)
    if kind == "list" and not Path(source).is_file():
        raise Invalid(f"{no_file(Path(source))}{_perhaps(source)}", field="SOURCE")
    return kind


def _guess(source: str) -> str:
    if "://" not in source:
        return "list"
    path = urlsplit(source).path.lower()
    if path.endswith((".xml", ".xml.gz", ".txt", ".txt.gz")) or "sitemap" in path:
        return "sitemap"
    return "site" if path in ("", "/") else "page"


def _perhaps(source: str) -> str:
    """The address that may have been meant by what is no file."""
    looks = HOST.fullmatch(source)
    if looks is None or Path(source).exists():
        return ""
    last = looks["last"].lower()
    if last in FILES or (last != "localhost" and "." not in source[: looks.end("last")]):
        return ""
    return f"; if the site is meant: https://{source if '/' in source else source + '/'}"


def asked_for(source: str, kind: str | None, options: dict[str, Any], *, skip_invalid: bool) -> Asked:
    """What the API is sent."""
    kind = kind_of(source, kind)
    body: dict[str, Any] = {"options": options, "skip_invalid": skip_invalid}
    if kind == "page":
        return Asked(body | {"urls": [source]})
    if kind != "list":
        return Asked(body | {f"{kind}_url": source})
    found = list(file_lines(Path(source)))
    sent = [(number, text.strip()) for number, text in found if is_utf8(text)]
    unsent = [number for number, text in found if not is_utf8(text)]
    if unsent and not (skip_invalid and sent):
        more = f", and {len(unsent) - 1} more" if len(unsent) > 1 else ""
        fields = [{"field": f"file.{number}", "message": NOT_UTF8} for number in unsent]
        raise Invalid(f"{source}, line {unsent[0]}: {NOT_UTF8}{more}", fields=fields)
    urls = [text for _, text in sent]
    return Asked(body | {"urls": urls, "name": source}, source, [number for number, _ in sent], unsent)
