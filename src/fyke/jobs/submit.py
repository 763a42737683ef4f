"""From what somebody asks for to a job that can be written: everything is checked first.

A job's **definition** says which jobs are the same one, asked for again: they are compared with each
other, and what an earlier one listed and this one does not is REMOVED. It is made of the kind of source,
the source's identity, and the target:

- a sitemap or a site: its canonical address;
- a file: its absolute path, so that a list may be edited between two crawls;
- a list with a `name`: that name, whatever is in the list;
- any other list: what is in it, in its order. Such a list never misses anything it had before.

Short lists become tasks in the transaction that makes the job. Longer ones are written as an object,
gzip'd lines, that the job's plan reads later: a million lines take no more memory than ten.
"""

import gzip
from asyncio import shield, to_thread
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

from msgspec import Struct

from fyke.core.errors import Invalid, InvalidUrl, Refused, StoreError
from fyke.core.ids import key16
from fyke.core.job import JobOptions
from fyke.core.outcome import Source
from fyke.core.secrets import hide_login
from fyke.core.task import Kind, LaneSpec, NewTask
from fyke.core.urls import canonical, host_of, with_bytes
from fyke.egress.guard import Guard, how_to_allow
from fyke.jobs.options import check_options
from fyke.jobs.scratch import scratch
from fyke.objects.local import full_disk
from fyke.objects.protocol import ObjectStore
from fyke.politeness.policies import Policies
from fyke.store.conn import Database
from fyke.store.jobs import NewJob
from fyke.store.pages import owns_list

__all__ = [
    "AT_ONCE",
    "PLAN_LANE",
    "JobRequest",
    "LineProblem",
    "Prepared",
    "discard",
    "file_lines",
    "making",
    "prepare",
]

AT_ONCE: Final = 500
PLAN_LANE: Final = LaneSpec("fyke:plan", cap=4)  # where the reading of lists waits: no host is asked
CHECKED_HERE: Final = 20  # URLs that are checked sooner than a thread is woken
MOST_SHOWN: Final = 20
SHOWN: Final = 120
LONGEST_LINE: Final = 65_536
WRITTEN_AT_ONCE: Final = 1000


class JobRequest(Struct, frozen=True, kw_only=True):
    """What is asked for: exactly one of a list of `urls`, a `file` with a URL a line (blank lines and
    lines that start with # are passed over), a `sitemap`, or a `site`."""

    options: JobOptions = JobOptions()
    urls: tuple[str, ...] | None = None
    file: Path | None = None
    sitemap: str | None = None
    site: str | None = None
    name: str | None = None
    domain: str | None = None
    skip_invalid: bool = False


class LineProblem(Struct, frozen=True):
    """A line that is no URL, or one that the guard refuses."""

    line: int
    text: str
    reason: str
    refused: bool = False


class Prepared(NewJob, frozen=True, kw_only=True):
    """A job to be made. `listed` counts the URLs of its list; `skipped` counts the lines left out, and
    `problems` has the first of them."""

    listed: int = 0
    skipped: int = 0
    problems: tuple[LineProblem, ...] = ()


async def prepare(
    request: JobRequest, policies: Policies, guard: Guard, objects: ObjectStore, directory: Path | None = None
) -> Prepared:
    """Check the request and everything in it. Nothing but the object of a long list, which is spooled in
    `directory`, has been written when this returns, and nothing at all when it raises. What is prepared is
    made within `making`, or it is to be given to `discard`."""
    check_options(request.options, guard)
    given = [n for n in ("urls", "file", "sitemap", "site") if getattr(request, n) is not None]
    if len(given) != 1:
        raise Invalid("give one of urls, file, sitemap or site", field=given[1] if given else "urls")
    if request.sitemap is not None:
        return _of_address("sitemap", request.sitemap, request, policies, guard)
    if request.site is not None:
        return _of_address("site", request.site, request, policies, guard)
    return await _of_list(request, policies, guard, objects, directory)


async def discard(prepared: Prepared, objects: ObjectStore) -> None:
    """Delete the list of a job that is not made after all: no job is there with which it would go."""
    for key in _lists(prepared):
        await objects.delete(key)


@asynccontextmanager
async def making(prepared: Prepared, database: Database, objects: ObjectStore) -> AsyncIterator[None]:
    """Around the transaction that makes the job: when it fails, or whoever waits for it gives up, what was
    prepared is discarded, unless the job was made all the same."""
    try:
        yield
    except BaseException:
        await shield(_discard_unmade(prepared, database, objects))
        raise


async def _discard_unmade(prepared: Prepared, database: Database, objects: ObjectStore) -> None:
    """Delete the list unless a job owns it. It is asked as one who writes, and so behind a transaction that
    is still to come to its end. What a database that does not answer may know of stays."""
    with suppress(StoreError):
        for key in _lists(prepared):
            if not await database.write(partial(owns_list, definition=prepared.definition, key=key)):
                await objects.delete(key)


def _lists(prepared: Prepared) -> list[str]:
    return [source.location for source in prepared.sources if source.kind == "list"]


def _of_address(kind: str, text: str, request: JobRequest, policies: Policies, guard: Guard) -> Prepared:
    try:
        url = canonical(text)
    except InvalidUrl as error:
        raise InvalidUrl(f"{kind} {_shown_text(text)!r}: {error.message}", field=f"{kind}_url") from None
    verdict = guard.check_url(url)
    if not verdict.allowed:
        message = f"{kind} {_shown_text(url)} is refused: {verdict.reason}{how_to_allow(verdict.reason)}"
        raise Refused(message, fields=[{"field": f"{kind}_url", "message": verdict.reason}])
    return Prepared(
        source_kind=kind,
        source=url,
        definition=_definition(kind, url, request.options.target),
        domain=request.domain or host_of(url),
        options=request.options,
        sources=(Source(kind, url, policies.lane_for(url)),),
    )


def _definition(kind: str, identity: str, target: str) -> bytes:
    return key16("\0".join((kind, identity, target)))


async def _of_list(
    request: JobRequest, policies: Policies, guard: Guard, objects: ObjectStore, directory: Path | None
) -> Prepared:
    with _Spool(directory) as spool:
        if request.urls is not None and len(request.urls) <= CHECKED_HERE:
            checked = _check_list(request, guard, spool)
        else:
            checked = await to_thread(_check_list, request, guard, spool)
        identity = _identity(request, checked)
        definition = _definition("list", identity, request.options.target)
        tasks: tuple[NewTask, ...] = ()
        sources: tuple[Source, ...] = ()
        if spool.path is not None:
            key = f"jobs/{definition.hex()}/{token_hex(16)}/list.gz"
            await objects.put_file(key, spool.path)
            sources = (Source("list", key, PLAN_LANE),)
        else:
            tasks = tuple(
                NewTask(Kind.PAGE, seq, policies.lane_for(url), url) for seq, url in enumerate(checked.urls)
            )
    return Prepared(
        source_kind="list",
        source=_shown(request, checked),
        definition=definition,
        domain=request.domain or host_of(checked.first),
        options=request.options,
        tasks=tasks,
        sources=sources,
        listed=checked.listed,
        skipped=checked.skipped,
        problems=tuple(checked.problems),
    )


class _Spool:
    """The lines of a long list, gzip'd, in a file that is made when the first are written: most lists are
    short, and making a directory for nothing was a quarter of what a small job took to start."""

    def __init__(self, directory: Path | None) -> None:
        self.path: Path | None = None
        self._directory = directory
        self._file: gzip.GzipFile | None = None
        self._kept = ExitStack()

    def __enter__(self) -> "_Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def write(self, text: bytes) -> None:
        if self._file is None:
            self.path = self._kept.enter_context(scratch(self._directory)) / "list.gz"
            self._file = self._kept.enter_context(gzip.GzipFile(self.path, "wb", compresslevel=1))
        self._file.write(text)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Checked(Struct):
    """A list that has been read: its URLs, canonical, unless they are so many that the spool has them."""

    urls: list[str] = []
    first: str = ""
    listed: int = 0
    skipped: int = 0
    problems: list[LineProblem] = []
    refused: int = 0
    digest: str = ""


def _identity(request: JobRequest, checked: _Checked) -> str:
    if request.name:
        return f"name {request.name}"
    if request.file is not None:
        return f"file {request.file.absolute()}"
    return f"content {checked.digest}"


def _shown(request: JobRequest, checked: _Checked) -> str:
    """What people are told the list is."""
    if request.name or request.file is not None:
        return request.name or str(request.file)
    return checked.first if checked.listed == 1 else f"{checked.listed} URLs from {checked.first}"


def _check_list(request: JobRequest, guard: Guard, spool: _Spool) -> _Checked:
    """Read the list to its end. With a problem in it, it is refused whole."""
    checked = _Checked()
    # A list longer than the job may take is kept whole too: a resume with a larger budget goes on in it.
    most = request.options.max_urls
    at_once = min(AT_ONCE, most) if most else AT_ONCE
    digest = blake2b(digest_size=16)
    spooled = False
    with full_disk(), closing(spool):
        for url in _good_lines(request, guard, checked):
            checked.first = checked.first or url
            checked.urls.append(url)
            checked.listed += 1
            spooled = spooled or len(checked.urls) > at_once
            if len(checked.urls) >= WRITTEN_AT_ONCE:
                _move(checked, digest, spool)
        if spooled:
            _move(checked, digest, spool)
    digest.update("".join([f"{url}\n" for url in checked.urls]).encode())
    checked.digest = digest.hexdigest()
    _judge(request, checked)
    return checked


def _move(checked: _Checked, digest: blake2b, spool: _Spool) -> None:
    text = "".join([f"{url}\n" for url in checked.urls]).encode()
    digest.update(text)
    spool.write(text)
    checked.urls = []


def _good_lines(request: JobRequest, guard: Guard, checked: _Checked) -> Iterator[str]:
    """The canonical URLs; problems are noted."""
    lines = enumerate(request.urls, 1) if request.urls is not None else file_lines(request.file)
    for number, text in lines:
        try:
            url = canonical(text)
            reason = guard.admit(url).refusal
        except InvalidUrl as error:
            _note(checked, LineProblem(number, _shown_text(text), error.message))
            continue
        if reason is not None:
            _note(checked, LineProblem(number, _shown_text(text), reason, refused=True))
            continue
        yield url


def _shown_text(text: str) -> str:
    """A line as messages show it: short, and without a password."""
    return hide_login(with_bytes(text.strip()))[:SHOWN]


def _note(checked: _Checked, problem: LineProblem) -> None:
    checked.skipped += 1
    checked.refused += problem.refused
    if len(checked.problems) < MOST_SHOWN:
        checked.problems.append(problem)


def file_lines(path: Path | None) -> Iterable[tuple[int, str]]:
    """The lines of a list that are neither blank nor comments, each with its number; bytes that are not UTF-8
    are kept (`surrogateescape`), so that such a line is known for what it is."""
    if path is None:
        return
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(_raw_lines(file), 1):
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if line.strip() and not line.lstrip().startswith(b"#"):
                    yield number, line.decode("utf-8", "surrogateescape")
    except OSError as error:
        raise Invalid(f"{path}: {error.strerror or error}", field="file") from None


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines, the long ones cut: a file of something else may be one line of gigabytes."""
    while line := file.readline(LONGEST_LINE):
        whole = line
        while not line.endswith(b"\n") and (line := file.readline(LONGEST_LINE)):
            pass
        yield whole


def _judge(request: JobRequest, checked: _Checked) -> None:
    """Raise when the list is not to be taken."""
    what = str(request.file) if request.file is not None else "urls"
    field = "file" if request.file is not None else "urls"
    if checked.skipped and (not request.skip_invalid or not checked.listed):
        first = checked.problems[0]
        more = f", and {checked.skipped - 1} more" if checked.skipped > 1 else ""
        refused, advice = (" is refused", how_to_allow(first.reason)) if first.refused else ("", "")
        place = "" if request.urls is not None and len(request.urls) == 1 else f"{what}, line {first.line}: "
        message = f"{place}{first.text!r}{refused}: {first.reason}{more}{advice}"
        start = 0 if request.file is not None else 1  # lines count from 1, the items of a list from 0
        fields = [{"field": f"{field}.{p.line - start}", "message": p.reason} for p in checked.problems]
        if checked.refused == checked.skipped:
            raise Refused(message, fields=fields)
        raise Invalid(message, fields=fields)
    if not checked.listed:
        raise Invalid(f"{what}: there is no URL in it", field=field)
