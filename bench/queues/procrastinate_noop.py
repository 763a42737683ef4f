"""Procrastinate on PostgreSQL: tasks that do nothing, deferred beforehand; the time to work them off.

Prints one JSON object.
"""

import argparse
import asyncio
import json
import logging
import time
from importlib.metadata import version

from procrastinate import App, PsycopgConnector
from procrastinate.types import JSONDict


def application(database: str) -> App:
    app = App(connector=PsycopgConnector(conninfo=database, min_size=4, max_size=20))

    @app.task(name="noop")
    async def noop(number: int) -> None:
        pass

    return app


async def run(database: str, tasks: int, concurrency: int) -> float:
    app = application(database)
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        noop = app.configure_task("noop")
        for first in range(0, tasks, 1000):
            numbers = range(first, min(first + 1000, tasks))
            arguments: list[JSONDict] = [{"number": number} for number in numbers]
            await noop.batch_defer_async(*arguments)
        started = time.perf_counter()
        await app.run_worker_async(concurrency=concurrency, wait=False, install_signal_handlers=False)
        seconds = time.perf_counter() - started
        unfinished = [
            status
            for status in ("todo", "doing", "failed")
            if list(await app.job_manager.list_jobs_async(status=status))
        ]
        if unfinished:
            raise SystemExit(f"there are jobs left: {', '.join(unfinished)}")
        return seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--database", required=True)
    options.add_argument("--tasks", type=int, default=5000)
    options.add_argument("--concurrency", type=int, default=20)
    chosen = options.parse_args()
    logging.getLogger("procrastinate").setLevel(logging.ERROR)
    seconds = asyncio.run(run(chosen.database, chosen.tasks, chosen.concurrency))
    print(
        json.dumps(
            {
                "system": "Procrastinate",
                "tasks": chosen.tasks,
                "seconds": seconds,
                "tasks_per_second": chosen.tasks / seconds,
                "version": version("procrastinate"),
                "durability": "PostgreSQL, fsync on, synchronous_commit on",
            }
        )
    )


if __name__ == "__main__":
    main()
