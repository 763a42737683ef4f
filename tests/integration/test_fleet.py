"""Worker processes and the wire to them, when something goes wrong on either side."""

import asyncio
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from fyke.core.errors import DiskFull, FykeError, LeaseLost, StoreBusy, StoreError
from fyke.core.task import Batch, JobInfo, Task, WorkerInfo
from fyke.engine.metrics import EngineMetrics, Tallies
from fyke.fleet import processes, wire
from fyke.fleet.frames import Call, decode, encode, read_frame, write_frame
from fyke.fleet.processes import WorkerProcess
from fyke.fleet.reports import Parent, listen
from fyke.fleet.wire import WireQueue, WireServer
from tests.processes import alive

SLEEPS = "import time; time.sleep(600)"
WORKER = WorkerInfo("one", "here", 1)


def sends_and_ends(*calls: object) -> str:
    """A worker that makes its calls, reads as much as one answer, and ends."""
    frames = [encode(call) for call in calls]
    sent = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    return (
        "import socket, sys; s = socket.socket(fileno=int(sys.argv[2]));"
        f" s.sendall(bytes.fromhex('{sent.hex()}')); s.recv(1)"
    )


class Queue:
    """As much of a queue as the wire and the processes use. `open` lets calls pass."""

    def __init__(self) -> None:
        self.database = SimpleNamespace(shared=False)
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.expired: list[int] = []
        self.problems: list[Exception] = []

    def limited_to(self, share: object) -> "Queue":
        return self

    def subscribe(self) -> asyncio.Event:
        return asyncio.Event()

    async def open_lease(self, worker: WorkerInfo) -> int:
        self.asked.set()
        await self.open.wait()
        return 7

    async def expire(self, lease: int) -> None:
        self.expired.append(lease)
        if self.problems:
            raise self.problems.pop()


class Spawns:
    """Stands before create_subprocess_exec: counts, may fail, and holds back at a door."""

    def __init__(self, spawn: Any) -> None:
        self.spawn = spawn
        self.problems: list[Exception] = []
        self.begun: asyncio.Queue[None] = asyncio.Queue()
        self.made: asyncio.Queue[Process] = asyncio.Queue()
        self.door = asyncio.Event()
        self.door.set()

    async def __call__(self, *arguments: str, **options: Any) -> Process:
        self.begun.put_nowait(None)
        if self.problems:
            raise self.problems.pop()
        process: Process = await self.spawn(*arguments, **options)
        await self.door.wait()
        self.made.put_nowait(process)
        return process


@pytest.fixture
def spawns(monkeypatch: pytest.MonkeyPatch) -> Spawns:
    made = Spawns(asyncio.create_subprocess_exec)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", made)
    monkeypatch.setattr(processes, "COMMAND", (sys.executable, "-c", SLEEPS))
    monkeypatch.setattr(processes, "FIRST_PAUSE", 0.01)
    return made


@pytest.fixture
async def queue() -> Queue:
    return Queue()


@pytest.fixture
async def place(queue: Queue) -> AsyncIterator[WorkerProcess]:
    made = WorkerProcess(0, queue, EngineMetrics(CollectorRegistry()), 1.0)  # type: ignore[arg-type]  # as much of a queue as is used
    yield made
    await made.stop()


async def test_a_place_is_filled_again_when_a_start_failed(place: WorkerProcess, spawns: Spawns) -> None:
    spawns.problems = [OSError("no memory"), OSError("no descriptors")]
    await place.start()
    first = await spawns.made.get()
    first.kill()
    assert alive((await spawns.made.get()).pid)


async def test_a_place_is_filled_again_when_the_leases_of_the_dead_cannot_be_ended(
    place: WorkerProcess, queue: Queue, spawns: Spawns, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = sends_and_ends((1, "open_lease", (WORKER,)))
    monkeypatch.setattr(processes, "COMMAND", (sys.executable, "-c", script))
    queue.problems = [DiskFull()]
    await place.start()
    for _ in range(3):
        await spawns.made.get()
    assert queue.expired[:2] == [7, 7]


@pytest.mark.parametrize("shared", [False, True])
async def test_told_to_stop_while_a_process_starts_none_is_left(
    place: WorkerProcess, queue: Queue, spawns: Spawns, shared: bool
) -> None:
    queue.database.shared = shared
    spawns.door.clear()
    await place.start()
    await spawns.begun.get()
    stopping = asyncio.create_task(place.stop())
    while not place.stopping.is_set():  # noqa: ASYNC110  # it begins in the next turn
        await asyncio.sleep(0)
    spawns.door.set()
    process = await spawns.made.get()
    async with asyncio.timeout(30):
        await stopping
    assert process.returncode is not None
    assert spawns.begun.empty()


@pytest.mark.parametrize(
    ("problem", "kind", "message"),
    [
        (StoreBusy("the disk is asleep"), StoreBusy, "the disk is asleep"),
        (StoreError("SQLite: no such table: tasks"), StoreError, "SQLite: no such table: tasks"),
        (LeaseLost(), LeaseLost, LeaseLost().message),
        (KeyError("lane"), StoreError, "KeyError: 'lane'"),
    ],
)
async def test_an_error_comes_with_its_text(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, problem: Exception, kind: type[FykeError], message: str
) -> None:
    """A worker process that cannot settle says in its log why."""

    async def fail(worker: WorkerInfo) -> int:
        raise problem

    monkeypatch.setattr(queue, "open_lease", fail)
    ours, theirs = socket.socketpair()
    server = WireServer(queue, ours)  # type: ignore[arg-type]  # as much of one as is used
    client = WireQueue(theirs, 15.0)
    await server.start()
    await client.start()
    with pytest.raises(kind) as raised:
        await client.open_lease(WORKER)
    assert raised.value.message == message
    assert type(raised.value) is kind
    await client.stop()
    await server.stop()


async def test_a_stopped_server_works_for_its_client_no_more(queue: Queue) -> None:
    """Whoever then ends the leases sees all of them, and none comes after."""
    ours, theirs = socket.socketpair()
    server = WireServer(queue, ours)  # type: ignore[arg-type]  # as much of one as is used
    client = WireQueue(theirs, 15.0)
    await server.start()
    await client.start()
    assert await client.open_lease(WORKER) == 7
    queue.asked.clear()
    queue.open.clear()
    server.leases.clear()
    opening = asyncio.create_task(client.open_lease(WORKER))
    await queue.asked.wait()
    await server.stop()
    queue.open.set()
    with pytest.raises(StoreBusy):
        await opening
    assert server.leases == set()
    await client.stop()


def counted(bytes: int) -> Tallies:
    """A report of some kilobytes."""
    return Tallies({(f"kind {n}", "succeeded", ""): n for n in range(500)}, bytes=bytes)


async def test_a_report_that_is_given_up_leaves_the_others_readable() -> None:
    """A server that does not read for a while hears all that was begun, and the last."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20_000)
    parent = Parent(theirs)
    await parent.start()
    sent = 0
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(0.05):
                await parent.tell(counted(sent))
            sent += 1
    reader, writer = await asyncio.open_connection(sock=ours)
    heard: list[Tallies] = []
    listening = asyncio.create_task(listen(reader, heard.append))
    async with asyncio.timeout(20):
        await parent.tell(counted(sent))
        await parent.stop()
        await listening
    assert [tallies.bytes for tallies in heard] == list(range(sent + 1))
    writer.close()
    await writer.wait_closed()


async def test_what_is_no_report_is_told() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data((3).to_bytes(4, "big") + b"abc")
    with capture_logs() as logs:
        await listen(reader, lambda tallies: None)
    assert [line["event"] for line in logs] == ["report_not_understood"]


async def test_an_answer_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a claim that is answered after all is handed back."""
    monkeypatch.setattr(wire, "LIMIT", 0.05)
    ours, theirs = socket.socketpair()
    client = WireQueue(theirs, 15.0)
    await client.start()
    reader, writer = await asyncio.open_connection(sock=ours)
    with pytest.raises(StoreBusy, match="has not answered"):
        await client.claim(5, 10)
    call = decode(await read_frame(reader), Call)
    batch = Batch([Task(9, 3, 2, "page", 0, "http://a.test/", b"", 1, 1)], {3: JobInfo(3, b"{}")})
    write_frame(writer, encode((call.number, "", batch)))
    back = decode(await read_frame(reader), Call)
    assert isinstance(back, Call)
    assert (back.method, bytes(back.arguments)) == ("hand_back", encode((5, [9])))
    await client.stop()
    writer.close()
    await writer.wait_closed()
