"""`fyke serve` and `fyke worker`: the long-running processes."""

import asyncio
import socket
from typing import Annotated

import structlog
import typer

from fyke.cli.run import configured, run
from fyke.cli.server import Server
from fyke.cli.show import print_json, say
from fyke.core.errors import InvalidSetting
from fyke.engine.lifecycle import Stack, until_signalled
from fyke.fleet.reports import Parent, Reports
from fyke.settings import Settings
from fyke.wiring import Engine, WiredWorker, open_base

__all__ = ["register"]

log = structlog.get_logger("fyke.serve")


def serve(
    host: Annotated[str | None, typer.Option(help="The address to bind to.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port to bind to.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, max=64, help="Worker processes; 1 runs inside the server, 0 is none.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object, once the server listens, and nothing else.")
    ] = False,
) -> int:
    """Run the server: API, workers and upkeep in one."""
    given = {"host": host, "port": port, "workers": workers}
    settings = configured(given={name: value for name, value in given.items() if value is not None})
    return run(_serve(settings, as_json))


async def _serve(settings: Settings, as_json: bool) -> int:
    server = Server(await open_base(settings))
    signalled = asyncio.create_task(until_signalled())
    try:
        await server.start()
    except BaseException:  # it may have failed when most of it had started
        await server.stop()
        raise
    if as_json:
        print_json({"address": server.address, "admin_key": str(server.key_file)})
    else:
        say(f"Fyke listens on {server.address}; what it can do: {server.address}/reference")
        if server.new_key:
            say(f"An admin key was made: {server.key_file}")
    log.info("started", address=server.address, workers=settings.workers)
    name = await signalled
    log.info("stopping", signal=name)
    await server.stop()
    log.info("stopped")
    return 0


def worker(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one object, once it works, and nothing else.")
    ] = False,
    wire_fd: Annotated[int | None, typer.Option("--wire-fd", hidden=True)] = None,
    parent_fd: Annotated[int | None, typer.Option("--parent-fd", hidden=True)] = None,
) -> int:
    """Work on the jobs of a shared database (FYKE_DATABASE_URL), until stopped."""
    settings = configured()
    if wire_fd is not None:
        return run(_work_by_wire(settings, wire_fd))
    if settings.embedded:
        raise InvalidSetting(
            "a worker needs a shared database (PostgreSQL or MySQL): SQLite has one process that writes;"
            " use `fyke serve --workers N`",
            field="FYKE_DATABASE_URL",
        )
    return run(_work(settings, None if parent_fd is None else socket.socket(fileno=parent_fd), as_json))


async def _work(settings: Settings, parent: socket.socket | None, as_json: bool) -> int:
    """Work until told to stop or, as one of a server's processes, until that is gone."""
    engine = Engine(await open_base(settings))
    ends = [asyncio.create_task(until_signalled())]
    server = Parent(parent) if parent is not None else None
    stack = Stack([server, Reports(engine.metrics, server.tell), engine] if server is not None else [engine])
    await stack.start()
    if server is not None:
        ends.append(asyncio.create_task(server.gone()))
    name = engine.worker.options.info.name if engine.worker else ""
    if as_json:
        print_json({"worker": name})
    log.info("started", worker=name)
    ended, others = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        other.cancel()
    log.info("stopping", signal=ended.pop().result())
    await stack.stop()
    return 0


async def _work_by_wire(settings: Settings, descriptor: int) -> int:
    wired = WiredWorker(settings, socket.socket(fileno=descriptor))
    signalled = asyncio.create_task(until_signalled())
    await wired.start()
    cut = asyncio.create_task(wired.queue.closed.wait())
    await asyncio.wait([signalled, cut], return_when=asyncio.FIRST_COMPLETED)
    if wired.queue.closed.is_set():
        wired.worker.abandon()  # the server has gone; its successor gives the tasks to others
    cut.cancel()
    signalled.cancel()
    await wired.stop()
    return 0


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(worker)
