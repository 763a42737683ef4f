"""Schemathesis over the whole OpenAPI document, as anybody may run it against a server: no fault."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import copyfile

import msgspec
import pytest

from fyke.cli.server import Ringing
from fyke.core import clock
from fyke.core.handler import Context, Handler
from fyke.core.outcome import Outcome, PageRow, SourceRead, Verdict
from fyke.core.page import ErrorClass
from fyke.core.task import JobInfo, Kind, Task, WorkerInfo
from fyke.engine.lifecycle import Stack
from fyke.engine.metrics import EngineMetrics
from fyke.engine.upkeep import Upkeep, UpkeepOptions
from fyke.engine.worker import Worker, WorkerOptions
from fyke.jobs.finish import FinishHandler
from tests.integration.api_parts import Parts

SEED = "20260301"


async def fails(task: Task, job: JobInfo, context: Context) -> Outcome:
    """The hosts are made up: nobody is asked for them."""
    message = "there is no such host"
    row = PageRow(
        task.seq, task.url, "failed", clock.now(), error_class=ErrorClass.DNS, error_message=message
    )
    return Outcome(task.id, task.lane, task.claims, Verdict.FAILED, (row,), error_class=ErrorClass.DNS)


async def reads_nothing(task: Task, job: JobInfo, context: Context) -> Outcome:
    given = msgspec.json.decode(task.payload)
    read = SourceRead(given["number"], 0, given["first_seq"], False, 1, "there is no such host")
    return Outcome(task.id, task.lane, task.claims, Verdict.SUCCEEDED, (read,))


@asynccontextmanager
async def worked_off(parts: Parts) -> AsyncIterator[None]:
    """The engine's worker and upkeep, off the network."""
    metrics = EngineMetrics(parts.registry)
    handlers: dict[str, Handler] = {
        Kind.PAGE: fails,
        Kind.PLAN: reads_nothing,
        Kind.FINISH: FinishHandler(parts.export_parts()),
    }

    async def forget(keys: list[str]) -> None:
        for key in keys:
            await parts.objects.delete_prefix(key)

    options = WorkerOptions(WorkerInfo("test", "here", 1))
    stack = Stack(
        [
            Ringing(parts.queue, parts.changes),
            Upkeep(parts.database, parts.queue, forget, UpkeepOptions(), metrics),
            Worker(parts.queue, handlers, options, metrics),
        ]
    )
    await stack.start()
    try:
        yield
    finally:
        await stack.stop()


async def schemathesis(url: str, token: str, directory: Path, *options: str) -> None:
    """Fails with what it says when it has found a fault."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"),
        *(f"{url}/openapi.json", "--header", f"Authorization: Bearer {token}", "--checks", "all"),
        *("--seed", SEED, "--request-timeout", "60", "--no-color", *options),
        cwd=directory,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    assert process.returncode == 0, said.decode()


@pytest.mark.timeout(300)  # some 20 s of a free core
@pytest.mark.parametrize(
    "phases",
    [
        ("--phases", "coverage", "--include-path", "/api/v1/jobs"),
        ("--phases", "coverage", "--exclude-path", "/api/v1/jobs"),
        # What follows links would in the end revoke every key there is but its own.
        ("--phases", "fuzzing,stateful", "--max-examples", "6"),
    ],
    ids=["coverage of what makes jobs", "coverage of the rest", "fuzzing and following links"],
)
async def test_no_fault(tmp_path: Path, template: Path, phases: tuple[str, ...]) -> None:
    copyfile(template, tmp_path / "fyke.db")
    async with (
        Parts.running(tmp_path) as parts,
        parts.served() as url,
        parts.client() as client,
        worked_off(parts),
    ):
        for number in range(3):  # something that is there to be found
            body = {"urls": [f"http://shop.test/{number}/{page}" for page in range(number + 1)]}
            assert (await client.post("/api/v1/jobs", json=body)).status_code == 201
        await schemathesis(url, parts.tokens["admin"], tmp_path, *phases)
        assert (await client.get("/api/v1/jobs")).status_code == 200  # the key is still good
        assert (await client.get("/health")).json()["status"] == "ok"
