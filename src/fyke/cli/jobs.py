"""`fyke jobs`: look at jobs, and tell them to stop or go on."""

import asyncio
from typing import Annotated, Any, get_args

import typer

from fyke.api.requests import ChangeType
from fyke.cli.api import Api, reach
from fyke.cli.arguments import FORMATS, Formats, JobId, formats_of
from fyke.cli.called import typed
from fyke.cli.exits import exit_of_state
from fyke.cli.run import configured, run
from fyke.cli.show import console, moment, print_json, print_rows, progress_bar, say, tell_skipped
from fyke.cli.source import asked_for
from fyke.core.errors import FykeError, Invalid, Refused, UnknownName
from fyke.core.job import ENDED
from fyke.core.page import ErrorClass

__all__ = ["register"]

jobs = typer.Typer(help="Look at jobs, and tell them to stop or go on.", no_args_is_help=True)

NOBODY = "no server or worker runs that would work on it (`fyke serve` starts one)"
NOT_FAILED = {ErrorClass.ROBOTS: "skipped", ErrorClass.WORKER_KILLED: "quarantined"}
UNSHOWN = {"options", "progress", "left_out_lines", "bytes", "residential_bytes"}  # megabytes say as much
CHANGES = (*get_args(ChangeType), "ALL")
POLL = 0.5
LOOKS = 20  # looks at a job from one look at who works to the next

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Limit = Annotated[int, typer.Option(min=1, help="The most rows shown.")]


async def _call(method: str, path: str, body: Any = None) -> Any:
    async with reach(configured(quiet=True)) as api:
        return await api.call(method, path, body)


async def _create(body: Any) -> Any:
    async with reach(configured(quiet=True)) as api:
        job = await api.call("POST", "/jobs", body)
        if not await api.workers():
            console.print(typed(f"The job waits: {NOBODY}."), markup=False)
        return job


async def _rows(path: str, limit: int | None, **query: Any) -> list[Any]:
    async with reach(configured(quiet=True)) as api:
        return [item async for item in api.every(path, limit, **query)]


def _print_job(job: Any, as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    same = {"close_reason"} if job["close_reason"] == job["state"] else set()
    for name, value in job.items():
        if value is not None and name not in UNSHOWN | same:
            say(f"{name.replace('_', ' '):>22}  {value}")


@jobs.command("create")
def create(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A page, a site, a sitemap, or a file of URLs.")
    ],
    kind: Annotated[str | None, typer.Option("--as", help="page, site, sitemap or list.")] = None,
    target: Annotated[str, typer.Option(help="What the pages are read as.")] = "product",
    max_urls: Annotated[int, typer.Option(min=0, help="The most URLs taken; 0: no limit.")] = 10_000,
    max_mb: Annotated[float, typer.Option(min=0, help="The most megabytes received; 0: no limit.")] = 100,
    concurrency: Annotated[int, typer.Option(min=0, help="Requests at once.")] = 2,
    priority: Annotated[int, typer.Option(min=-10, max=10, help="Higher goes first.")] = 0,
    formats: Formats = FORMATS,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out lines that are no URL.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a job; a server or worker does it."""
    options = {
        "target": target,
        "max_urls": max_urls,
        "max_concurrency": concurrency,
        "traffic_budget_mb": max_mb,
        "priority": priority,
        "exports": formats_of(formats),
    }
    asked = asked_for(source, kind, options, skip_invalid=skip_invalid)
    try:
        job = asked.told(run(_create(asked.body)))
    except (Invalid, Refused) as error:
        raise asked.in_file(error) from None
    tell_skipped([(line["line"], line["reason"]) for line in job["left_out_lines"]], job["left_out"])
    _print_job(job, as_json)


@jobs.command("list")
def list_all(
    domain: Annotated[str | None, typer.Option(help="Only jobs of this domain.")] = None,
    state: Annotated[str | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List jobs, the newest first."""
    found = run(_rows("/jobs", limit, domain=domain, state=state))
    if as_json:
        print_json(found)
        return
    rows = [
        (j["id"], j["state"], f"{j['succeeded'] + j['failed'] + j['skipped']}/{j['total']}", j["failed"],
         moment(j["created_at"]), j["source"])
        for j in found
    ]  # fmt: skip
    print_rows(("=id", "state", "pages", "failed", "+created", "source"), rows)


@jobs.command("show")
def show(job: JobId, as_json: Json = False) -> None:
    """Show a job, its counters and how far it is."""
    _print_job(run(_call("GET", f"/jobs/{job}")), as_json)


@jobs.command("cancel")
def cancel(job: JobId, as_json: Json = False) -> None:
    """Hand out no more of the job's tasks; what runs may finish."""
    _print_job(run(_call("POST", f"/jobs/{job}/cancel")), as_json)


@jobs.command("resume")
def resume(
    job: JobId,
    max_urls: Annotated[int | None, typer.Option(min=0, help="Another budget of URLs.")] = None,
    max_mb: Annotated[float | None, typer.Option(min=0, help="Another budget of megabytes.")] = None,
    as_json: Json = False,
) -> None:
    """Go on where the job stopped."""
    given = {"max_urls": max_urls, "traffic_budget_mb": max_mb}
    options = {name: value for name, value in given.items() if value is not None}
    body = {"options": options} if options else None
    _print_job(run(_call("POST", f"/jobs/{job}/resume", body)), as_json)


@jobs.command("retry")
def retry(
    job: JobId,
    error_class: Annotated[str | None, typer.Option(help="Only failures of this class.")] = None,
    host: Annotated[str | None, typer.Option(help="Only failures at this host.")] = None,
    as_json: Json = False,
) -> None:
    """Run the job's failures again."""
    given = {"error_class": error_class, "host": host}
    body = {name: value for name, value in given.items() if value is not None}
    found = run(_call("POST", f"/jobs/{job}/retry", body))
    if as_json:
        print_json(found)
    else:
        count = found["retried"]
        say("1 failure runs again" if count == 1 else f"{count} failures run again")


@jobs.command("delete")
def delete(job: JobId, as_json: Json = False) -> None:
    """Delete the job with its pages, changes and exports."""
    found = run(_call("DELETE", f"/jobs/{job}"))
    if as_json:
        print_json(found)
    else:
        say("Deleted.")


@jobs.command("pages")
def pages(
    job: JobId,
    state: Annotated[
        str | None, typer.Option(help="queued, succeeded, failed, skipped or quarantined.")
    ] = None,
    limit: Limit = 20,
    as_json: Json = False,
) -> None:
    """List the job's pages in the order of its plan."""
    found = run(_rows(f"/jobs/{job}/pages", limit, state=state))
    if as_json:
        print_json(found)
        return
    rows = [(p["state"], p["http_status"], p["error_class"], p["url"], p["title"]) for p in found]
    print_rows(("state", "status", "error", "url", "+title"), rows)


@jobs.command("errors")
def errors(job: JobId, as_json: Json = False) -> None:
    """Count what failed or was skipped, by class and host."""
    found = run(_rows(f"/jobs/{job}/errors", None))
    if as_json:
        print_json(found)
        return
    rows = [
        (
            NOT_FAILED.get(group["error_class"], "failed"),
            group["error_class"],
            group["count"],
            group["host"],
            group["samples"][0]["message"],
            group["samples"][0]["url"],
        )
        for group in found
    ]
    print_rows(("state", "class", "count", "host", "for instance", "+url"), rows)


@jobs.command("diff")
def diff(
    job: JobId,
    change: Annotated[
        str, typer.Option(help="added, removed or modified; changed: all of these; unchanged; all.")
    ] = "changed",
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Show what the job found changed."""
    if change.upper() not in CHANGES:
        raise UnknownName("--change", change, [name.lower() for name in CHANGES])
    wanted = None if change.upper() == "ALL" else change.upper()
    found = run(_rows(f"/jobs/{job}/diff", limit, change_type=wanted))
    if as_json:
        print_json(found)
        return
    rows = [(row["change_type"], _what_changed(row), row["url"]) for row in found]
    print_rows(("change", "what", "url"), rows)


def _what_changed(row: Any) -> str:
    """A change in words: from what to what, where that is kept, else which field."""
    told = ("price", "availability", "title")
    kind = row["change_type"]
    if kind == "MODIFIED":
        steps = {name: f"{name}: {_side(row, name, 'prev')} → {_side(row, name, 'curr')}" for name in told}
        changed = row["fields_changed"]
        return "; ".join(
            [steps[name] for name in told if name in changed] + [name for name in changed if name not in told]
        )
    side = "prev" if kind == "REMOVED" else "curr"
    return "; ".join(f"{name}: {_side(row, name, side)}" for name in told if row[f"{name}_{side}"])


def _side(row: Any, name: str, side: str) -> str:
    return row[f"{name}_{side}"] or "–"


@jobs.command("watch")
def watch(job: JobId, as_json: Json = False) -> int:
    """Follow the job until it has ended."""
    found = run(_watch(job, show=not as_json))
    if as_json:
        print_json(found)
    else:
        say(found["state"])
    return exit_of_state(found["state"])


async def _watch(job: str, *, show: bool) -> Any:
    async with reach(configured(quiet=True)) as api:
        if not show or not console.is_terminal:
            return await _until_ended(api, job, None)
        await api.call("GET", f"/jobs/{job}")  # no bar for a job that is not there
        with progress_bar() as bar:
            line = bar.add_task(job[:8], total=None)
            return await _until_ended(
                api, job, lambda done, total: bar.update(line, completed=done, total=total or None)
            )


async def _until_ended(api: Api, job: str, tell: Any) -> Any:
    idle = 0  # looks in a row at which nobody worked; a worker that is restarted is away for one
    number = 0
    while True:
        found = await api.call("GET", f"/jobs/{job}")
        if tell is not None:
            tell(found["succeeded"] + found["failed"] + found["skipped"], found["total"])
        if found["state"] in ENDED:
            return found
        if number % LOOKS == 0:
            idle = 0 if await api.workers() else idle + 1
            if idle > bool(number):
                raise FykeError(f"the job is {found['state']}, and {NOBODY}")
        number += 1
        await asyncio.sleep(POLL)


def register(app: typer.Typer) -> None:
    app.add_typer(jobs, name="jobs")
