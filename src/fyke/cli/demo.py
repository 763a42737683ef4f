"""`fyke demo`: a shop, a crawl, some changes, another crawl, and what was noticed.

Killed at any moment, it goes on when it is run again: the shop opens at the same address in the same
state, and the crawl is resumed.
"""

import asyncio
import shlex
import shutil
import socket
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from fyke.cli.called import program, typed
from fyke.cli.crawl import Crawl, crawl_once, request_for
from fyke.cli.exits import Exit
from fyke.cli.out import bring_out
from fyke.cli.run import configured, run
from fyke.cli.server import Server
from fyke.cli.show import print_json, print_rows, say, summary
from fyke.core.errors import StoreError
from fyke.core.job import ENDED
from fyke.core.outcome import Change
from fyke.engine.lifecycle import until_signalled
from fyke.engine.lock import DirectoryLock
from fyke.jobs.submit import JobRequest
from fyke.politeness.policies import Policies, shipped
from fyke.settings import Settings
from fyke.shop.catalogue import Changes
from fyke.shop.shop import Shop
from fyke.store.conn import Conn
from fyke.store.jobs import Job, JobFilter, list_jobs
from fyke.store.pages import read_changes
from fyke.wiring import Base, open_base

__all__ = ["register"]

POLICY = """
policies:
  demo-shop:
    hosts: ["127.0.0.1"]
    concurrency: 8
    rate: 60/s
    burst: 8
"""
SHOWN = 12
CHANGED = 0.1
CRAWLS = 2
MOST_JOBS = 100
STATE = "demo.json"


class State(Struct):
    """Where the shop is, kept beside the data; and whether the demo has come to its end. How far it is before
    that, the database knows."""

    port: int
    ended: bool = False


def demo(
    once: Annotated[bool, typer.Option("--once", help="End after the second crawl.")] = False,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The API's port.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one object and nothing else.")] = False,
) -> int:
    """Crawl a built-in shop twice, and show what changed in between."""
    settings = configured(quiet=True)
    settings = settings.model_copy(
        update={
            "data_dir": _directory(settings.data_dir),
            "database_url": "",
            "objects_dir": "",
            "workers": 1,  # worker processes would not know the demo's policies
            "egress_allow": [*settings.egress_allow, "127.0.0.0/8"],
            "port": _usable(port if port is not None else settings.port),
            "retry_base": min(settings.retry_base, 0.5),
        }
    )
    return run(_demo(settings, once=once, show=not as_json))


def _directory(data_dir: Path) -> Path:
    """Where a demo lives; in the directory itself, if that is a demo's: people are told to set it."""
    return data_dir if (data_dir / STATE).is_file() else data_dir / "demo"


def _usable(port: int) -> int:
    """The port, or any other if somebody has it."""
    with socket.socket() as sock:
        try:
            sock.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


async def _demo(settings: Settings, *, once: bool, show: bool) -> int:
    signalled = asyncio.create_task(until_signalled())
    state = await _load(settings)
    policies = Policies.load([("shipped policies", shipped()), ("demo", POLICY)])
    shop = Shop()
    base = await open_base(settings, policies)
    url = await _open(shop, state)
    _save(settings, state)
    # The shop is to be as it was before anything is fetched from it.
    changes = shop.change_prices(CHANGED) if await _was_crawled(base, shop) else None
    server = Server(base)
    await server.start()
    try:
        _say(show, f"A shop with {len(shop.items)} products is open at {url}")
        jobs = await _crawls(server, shop, changes, show, signalled)
        if len(jobs) < CRAWLS:
            _say(show, typed("Interrupted: `fyke demo` goes on from here."))
            return Exit.INTERRUPTED
        _save(settings, State(state.port, ended=True))  # the next demo is a new one
        noticed = await _changes(server, jobs[-1])
        if show:
            _show(noticed, settings)
        else:
            counts = Counter(change.change_type for change in noticed)
            print_json({"crawls": [summary(job) for job in jobs], "changes": counts})
        if not once:
            _say(show, f"\nThe API is open: {server.address}/reference. Ctrl-C ends it.")
            _say(show, f"Its key is in {server.key_file}. In another shell, while it is open:")
            _say(show, f"    export FYKE_DATA_DIR={shlex.quote(str(settings.data_dir.absolute()))}")
            _say(show, f"    {program()} jobs list")
            await signalled
    finally:
        signalled.cancel()
        await server.stop()
        await shop.stop()
    return Exit.DONE


async def _was_crawled(base: Base, shop: Shop) -> bool:
    """Whether the first crawl has ended, looked up before anything runs."""
    await base.start()
    try:
        return bool(await base.database.read(partial(_ended, source=f"{shop.base_url}/")))
    finally:
        await base.stop()


async def _crawls(
    server: Server, shop: Shop, changes: Changes | None, show: bool, signalled: "asyncio.Task[str]"
) -> list[Job]:
    """The crawls that have ended: all of them, or those before a signal came."""
    jobs: list[Job] = []
    for number in range(1, CRAWLS + 1):
        if jobs:
            changes = changes or shop.change_prices(CHANGED)
            _say(show, f"\nThe shop changes: {_told(changes)}")
        _say(show, f"\nCrawl {number} of {CRAWLS}")
        work = Crawl(_request(shop), _out(server, number), show=show)
        job = await _crawl(server, shop, number, work, signalled)
        if job.state not in ENDED:
            return jobs
        jobs.append(job)
        counts = f"{job.succeeded} pages, {job.failed} failed, {job.skipped} skipped"
        _say(show, f"{job.state}: {counts} (the shop has its troubles)")
        _say(show, f"Exports: {work.out}")
    return jobs


async def _crawl(server: Server, shop: Shop, number: int, work: Crawl, signalled: "asyncio.Task[str]") -> Job:
    """The crawl of that number: one that ended before the demo was interrupted, or one made now."""
    ended = await server.database.read(partial(_ended, source=f"{shop.base_url}/"))
    if len(ended) >= number:
        job = ended[number - 1]
        await bring_out(server.engine.base, job, work.out)
        return job
    return (await crawl_once(server.engine, work, signalled)).job


async def _ended(conn: Conn, *, source: str) -> list[Job]:
    """The oldest first."""
    jobs = await list_jobs(conn, JobFilter(limit=MOST_JOBS))
    return [job for job in reversed(jobs) if job.source == source and job.state in ENDED]


def _request(shop: Shop) -> JobRequest:
    return request_for(f"{shop.base_url}/", "site", {"max_concurrency": 8}, skip_invalid=False)


def _out(server: Server, number: int) -> Path:
    return server.behind.settings.data_dir / "out" / f"crawl-{number}"


def _told(changes: object) -> str:
    parts = msgspec.to_builtins(changes)
    return ", ".join(f"{len(found)} {name.replace('_', ' ')}" for name, found in parts.items() if found)


async def _open(shop: Shop, state: State) -> str:
    try:
        url = await shop.start(state.port)
    except OSError as error:
        raise StoreError(f"the shop cannot open at port {state.port}: {error.strerror}") from error
    state.port = int(url.rsplit(":", 1)[1].rstrip("/"))
    return url


async def _changes(server: Server, job: Job) -> list[Change]:
    found: list[Change] = []
    after = -1
    while True:
        some = await server.database.read(lambda conn, after=after: read_changes(conn, job.id, after, 1000))  # type: ignore[misc]
        found += some
        if len(some) < 1000:
            return found
        after = some[-1].seq


def _show(changes: list[Change], settings: Settings) -> None:
    counts = Counter(change.change_type for change in changes)
    said = ", ".join(f"{n} {kind.lower()}" for kind, n in sorted(counts.items()))
    say(f"\nWhat the second crawl noticed: {said}\n")
    moved = [change for change in changes if change.change_type != "UNCHANGED"]
    rows = [
        (
            change.change_type,
            change.fields_changed,
            _step(change.price_prev, change.price_curr),
            _step(change.availability_prev, change.availability_curr),
            "/" + change.url.split("/", 3)[-1],
        )
        for change in moved[:SHOWN]
    ]
    print_rows(("change", "fields", "price", "+availability", "page"), rows)
    if len(moved) > SHOWN:
        say(f"and {len(moved) - SHOWN} more in {settings.data_dir / 'out' / 'crawl-2' / 'diff.csv'}")


def _step(before: str | None, now: str | None) -> str:
    return (now or "") if before == now else f"{before or '–'} → {now or '–'}"


def _say(show: bool, text: str) -> None:
    if show:
        say(text)


def _file(settings: Settings) -> Path:
    return settings.data_dir / STATE


async def _load(settings: Settings) -> State:
    """Where an interrupted demo was; a new one starts on an empty directory, unless another demo is still
    open there."""
    lock = DirectoryLock(settings.data_dir)
    await lock.start()
    try:
        return await asyncio.to_thread(_read, settings)
    finally:
        await lock.stop()


def _read(settings: Settings) -> State:
    try:
        state = msgspec.json.decode(_file(settings).read_bytes(), type=State)
    except (FileNotFoundError, msgspec.DecodeError):
        state = State(0, ended=True)
    if state.ended:
        shutil.rmtree(settings.data_dir, ignore_errors=True)
        return State(0)
    return state


def _save(settings: Settings, state: State) -> None:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    part = _file(settings).with_suffix(".part")
    part.write_bytes(msgspec.json.encode(state))
    part.replace(_file(settings))


def register(app: typer.Typer) -> None:
    app.command()(demo)
