"""`fyke crawl`: a crawl from start to exports, without a server; run again, it goes on."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct, field
from rich.progress import Progress

from fyke.cli.arguments import FORMATS, Formats, formats_of
from fyke.cli.called import program
from fyke.cli.exits import Exit, exit_of_state
from fyke.cli.going_on import apply_options, list_has_changed, others_wait, word_of
from fyke.cli.out import Out, bring_out
from fyke.cli.run import configured, run
from fyke.cli.show import console, print_json, progress_bar, say, summary, tell_skipped
from fyke.cli.source import kind_of
from fyke.core import clock, ids
from fyke.core.errors import Conflict, DiskFull, Invalid
from fyke.core.job import ENDED, JobOptions
from fyke.engine.lifecycle import until_signalled
from fyke.extract import TARGETS
from fyke.jobs.export import exports_of
from fyke.jobs.options import options_from
from fyke.jobs.submit import JobRequest, Prepared, discard, making
from fyke.settings import Settings
from fyke.store.jobs import Job, count_open, create_job, get_job, latest_of
from fyke.store.resume_job import resume_job
from fyke.wiring import Engine, load_policies, open_base

__all__ = ["Crawl", "crawl_once", "register", "request_for"]

NAMED = {
    "max_urls": "max_urls",
    "max_mb": "traffic_budget_mb",
    "concurrency": "max_concurrency",
    "strategy": "strategies",
    "formats": "exports",
}
POLL = 0.2
LEAST_ROOM = 64 * 1024

_options = msgspec.json.Decoder(JobOptions).decode


class Crawl(Struct, frozen=True):
    """What to crawl, and where the exports go."""

    request: JobRequest
    out: Path
    delay: float | None = None
    concurrency: int | None = None
    show: bool = True
    given: tuple[str, ...] = ()  # the options that the command names
    asked_at: int = field(default_factory=clock.now)


class Crawled(Struct, frozen=True):
    """A job after this command's work on it. `began` is when that was, and `before` what was done by then,
    if it went on with what another had begun."""

    job: Job
    out: Out
    began: int | None
    before: int
    skipped_lines: int = 0

    @property
    def summary(self) -> dict[str, Any]:
        return summary(self.job, self.began, self.before)


def crawl(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="A page, a site (https://host/), a sitemap, or a file of URLs."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the exports go.")] = Path("out"),
    kind: Annotated[
        str | None, typer.Option("--as", help="page, site, sitemap or list; guessed if not given.")
    ] = None,
    target: Annotated[
        str, typer.Option(help=f"What the pages are read as: {' or '.join(TARGETS)}.")
    ] = "product",
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, max=2000, help="Requests at once to a host that no policy names; and in all."),
    ] = None,
    delay: Annotated[
        float | None, typer.Option(min=0, help="Seconds between requests to a host that no policy names.")
    ] = None,
    max_urls: Annotated[int, typer.Option(min=0, help="The most URLs taken; 0: no limit.")] = 10_000,
    max_mb: Annotated[float, typer.Option(min=0, help="The most megabytes received; 0: no limit.")] = 0,
    strategy: Annotated[
        list[str] | None, typer.Option(help="How pages are fetched: http. May be given again.")
    ] = None,
    formats: Formats = FORMATS,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out lines that are no URL, instead of refusing.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one summary object and nothing else.")
    ] = False,
) -> int:
    """Crawl SOURCE and write its exports to --out. After any interruption, the same command goes on."""
    settings = configured(quiet=True)
    options = {
        "target": target,
        "max_urls": max_urls,
        "max_concurrency": concurrency or 8,
        "traffic_budget_mb": max_mb,
        "strategies": strategy or ["http"],
        "exports": formats_of(formats),
    }
    request = request_for(source, kind, options, skip_invalid=skip_invalid)
    _make_room(out)
    work = Crawl(request, out, delay, concurrency, not as_json, _given(context))
    return run(_crawl(settings, work, as_json))


def _given(context: typer.Context) -> tuple[str, ...]:
    """Which of a job's options the command line names."""
    sources = {name: context.get_parameter_source(name) for name in NAMED}
    return tuple(NAMED[name] for name, found in sources.items() if found and found.name == "COMMANDLINE")


def _make_room(out: Path) -> None:
    """Hours of crawling are not to end before a directory that cannot be made, or written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Invalid(f"{out} cannot be a directory: {error.strerror}", field="--out") from None
    try:
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise Invalid(f"{out} cannot be written to: {error.strerror}", field="--out") from None


def request_for(source: str, kind: str | None, options: dict[str, Any], *, skip_invalid: bool) -> JobRequest:
    """What a source on the command line means."""
    kind = kind_of(source, kind)
    request = JobRequest(options=options_from(options), skip_invalid=skip_invalid)
    if kind == "list":
        return msgspec.structs.replace(request, file=Path(source))
    if kind == "page":
        return msgspec.structs.replace(request, urls=(source,))
    return msgspec.structs.replace(request, **{kind: source})


async def _crawl(settings: Settings, work: Crawl, as_json: bool) -> int:
    policies = load_policies(settings).overlaid(work.delay, work.concurrency)
    # On a shared database, what this command says of rates is not for the jobs of others.
    adopts = settings.embedded or work.delay is work.concurrency is None
    engine = Engine(await open_base(settings, policies), adopts=adopts)
    signalled = asyncio.create_task(until_signalled())
    await engine.start()
    try:
        done = await crawl_once(engine, work, signalled)
    finally:
        signalled.cancel()
        await engine.stop()
    job = done.job
    if as_json:
        print_json(
            {
                **done.summary,
                "skipped_lines": done.skipped_lines,
                "exports": [str(file) for file in done.out.files],
                "earlier_exports": [str(file) for file in done.out.earlier],
            }
        )
    else:
        _say(done, work.out)
    if job.state not in ENDED:
        return Exit.INTERRUPTED
    missing = len(set(exports_of(_options(job.options).exports)) - done.out.made)
    if missing:
        make = f"{program()} exports make {ids.public(job.id)}"
        console.print(f"{missing} exports are missing: {make}", markup=False)
        return Exit.FAILED
    return exit_of_state(job.state)


async def crawl_once(engine: Engine, work: Crawl, signalled: "asyncio.Task[str]") -> Crawled:
    """Make the job, or find the one that was interrupted; see it through, unless a signal comes; put its
    exports at hand."""
    base = engine.base
    prepared = await base.submit(work.request)
    tell_skipped([(problem.line, problem.reason) for problem in prepared.problems], prepared.skipped)
    began = await base.database.read(lambda conn: conn.now())
    identity = await _job_for(engine, prepared, work)
    start = await base.database.read(lambda conn: get_job(conn, identity))
    watching = asyncio.create_task(_see_through(engine, identity, work))
    try:
        await asyncio.wait([signalled, watching], return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            await watching
        else:
            await engine.rest()
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    job = await base.database.read(lambda conn: get_job(conn, identity))
    out = await bring_out(base, job, work.out)
    if start.created_at >= began:
        return Crawled(job, out, None, 0, prepared.skipped)
    return Crawled(job, out, began, start.succeeded + start.failed + start.skipped, prepared.skipped)


async def _see_through(engine: Engine, identity: int, work: Crawl) -> None:
    """Watch the job to its end. One whose budget of URLs was raised while it ran goes on from there: what it
    had left out by then comes back with a resume."""
    base = engine.base
    while True:
        await _watch(engine, identity, work)
        job = await base.database.read(lambda conn: get_job(conn, identity))
        if job.state != "stopped" or not _raised(job, _options(job.options)):
            return
        try:
            await resume_job(base.database, identity, base.policies.lane_for)
        except Conflict:
            return
        base.queue.wake()


async def _job_for(engine: Engine, prepared: Prepared, work: Crawl) -> int:
    base = engine.base
    latest = await base.database.read(lambda conn: latest_of(conn, prepared.definition))
    if latest is not None and latest.state not in ENDED:
        _note(work, word_of(latest, work.asked_at))
        for said in await apply_options(base, latest, prepared.options, work.given):
            _note(work, said)
        await _look_around(engine, latest, prepared, work)
        await discard(prepared, base.objects)
        return latest.id
    if latest is not None and latest.state == "stopped" and _raised(latest, prepared.options):
        _note(work, f"Going on with a crawl of {latest.source} that stopped at {latest.close_reason}.")
        await resume_job(base.database, latest.id, base.policies.lane_for, prepared.options)
        await _look_around(engine, latest, prepared, work)
        await discard(prepared, base.objects)
        base.queue.wake()
        return latest.id
    await _look_around(engine, None, prepared, work)
    async with making(prepared, base.database, base.objects):
        identity = await base.database.write(lambda conn: create_job(conn, prepared), urgent=True)
    base.queue.wake()
    return identity


def _raised(latest: Job, options: JobOptions) -> bool:
    """Whether the budget that a job stopped at is larger now, or none. With any other options it would stop
    where it did: who asks for that asks for a new crawl."""
    if latest.close_reason == "max_urls":
        return not options.max_urls or options.max_urls > latest.total
    before, now = (getattr(o, latest.close_reason or "", 0) for o in (_options(latest.options), options))
    return bool(before) and (not now or now > before)


async def _look_around(engine: Engine, latest: Job | None, prepared: Prepared, work: Crawl) -> None:
    """Say what is not as the command has it: the list gone on with, and who else is worked for."""
    base, file = engine.base, work.request.file
    if latest is not None and file is not None and await list_has_changed(base, latest, prepared):
        console.print(  # also where notes are not wanted: the exports will not be of what is in the file
            f"{file} has changed since then: going on with the list as it was."
            " The next crawl of it takes the list as it is.",
            markup=False,
        )
    others = await base.database.read(count_open) - (latest is not None)
    if others > 0 and base.settings.embedded:
        _note(work, others_wait(others))


def _note(work: Crawl, text: str) -> None:
    if work.show:
        console.print(text, markup=False)


async def _watch(engine: Engine, identity: int, work: Crawl) -> None:
    """Show how far the job is until it has ended."""
    bar = progress_bar() if work.show and console.is_terminal else None
    if bar is None:
        await _until_ended(engine, identity, None)
        return
    with bar:
        await _until_ended(engine, identity, bar)


async def _until_ended(engine: Engine, identity: int, bar: Progress | None) -> None:
    line = bar.add_task("planning", total=None) if bar else None
    while True:
        job = await engine.base.database.read(lambda conn: get_job(conn, identity))
        done = job.succeeded + job.failed + job.skipped
        if bar is not None and line is not None:
            what = "planning" if not job.planned else "crawling" if job.phase == "crawl" else "exporting"
            bar.update(line, description=what, completed=done, total=job.total or None)
        if job.state in ENDED:
            if bar is not None and line is not None:
                bar.update(line, description=job.state, completed=done, total=done)
            return
        problem = engine.worker.problem if engine.worker else None
        writing = job.phase != "crawl"
        if isinstance(problem, DiskFull) or (writing and await asyncio.to_thread(_no_room, engine)):
            raise DiskFull(
                "the disk is full: free some space and run the same command again; nothing is lost"
            )
        await asyncio.sleep(POLL)


def _no_room(engine: Engine) -> bool:
    """An export that does not fit is tried again for as long as nobody waits; here somebody does."""
    return shutil.disk_usage(engine.base.settings.data_dir).free < LEAST_ROOM


def _say(done: Crawled, out: Path) -> None:
    job, found = done.job, done.summary
    pages = "1 page" if job.succeeded == 1 else f"{job.succeeded:,} pages"
    counts = f"{pages}, {job.failed:,} failed, {job.skipped:,} skipped"
    if job.state not in ENDED:
        say(f"interrupted: {counts} so far. Run the same command to go on.")
        return
    say(f"{job.state}: {counts}; {found['seconds']:.1f} s, {found['pages_per_second']:,} pages/s")
    if job.error_message:
        say(job.error_message)
    if job.state == "stopped":
        say(f"It stopped at {job.close_reason}: run it again with a higher limit to go on.")
    if job.failed or job.skipped:
        say(f"What failed or was skipped, and why: {program()} jobs errors {ids.public(job.id)}")
    _say_exports(done, out)


def _say_exports(done: Crawled, out: Path) -> None:
    files, earlier = (", ".join(file.name for file in some) for some in (done.out.files, done.out.earlier))
    if files:
        say(f"Exports are in {out}: {files}")
    if files and earlier:
        say(f"Of an earlier crawl, and left as they were: {earlier}")
    elif earlier:
        say(f"No page was read, so what an earlier crawl left in {out} stays as it was: {earlier}")
        say(f"The exports of this crawl: {program()} exports list --job {ids.public(done.job.id)}")


def register(app: typer.Typer) -> None:
    app.command()(crawl)
