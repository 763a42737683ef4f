"""The queue over a socket: a client that is a Queue, and the server that answers from a real one."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import structlog

from fyke.core.errors import DiskFull, FykeError, LeaseLost, StoreBusy, StoreError
from fyke.core.outcome import Outcome, Settled
from fyke.core.queue import Share
from fyke.core.task import Batch, WorkerInfo
from fyke.engine.metrics import Tallies
from fyke.fleet.frames import (
    ANSWERS,
    ARGUMENTS,
    Answer,
    Call,
    decode,
    decode_text,
    encode,
    read_frame,
    write_frame,
)
from fyke.store.queue import SqlQueue

__all__ = ["WireQueue", "WireServer"]

log = structlog.get_logger("fyke.wire")

ERRORS: dict[str, type[FykeError]] = {e.code: e for e in (LeaseLost, StoreBusy, DiskFull, StoreError)}
BUFFER = 1 << 20
LIMIT = 60.0  # seconds for an answer: long enough for a disk that is busy, not for one that hangs
CLAIMS = ("claim", "claim_suspect")


class WireQueue:
    """See core.queue.Queue. When the wire is cut, every call fails and `closed` is set. A claim that is
    answered when nobody waits for it any more is handed back: its lease lives, and would keep it."""

    def __init__(self, sock: socket.socket, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        self.closed = asyncio.Event()
        self._sock = sock
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._calls: dict[int, asyncio.Future[Answer]] = {}
        self._given_up: dict[int, int] = {}  # claims, with their leases
        self._returning: set[asyncio.Task[None]] = set()
        self._number = 0
        self._news = asyncio.Event()

    async def start(self) -> None:
        reader, self._writer = await asyncio.open_connection(sock=self._sock, limit=BUFFER)
        self._reading = asyncio.create_task(self._read(reader), name="wire")

    async def stop(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None and self._writer is not None:
            await _end(reading, *self._returning)
            self._writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                answer = decode(await read_frame(reader), Answer)
                assert isinstance(answer, Answer)  # noqa: S101 - what decode was asked for
                if answer.number == 0:
                    self._news.set()
                elif (call := self._calls.pop(answer.number, None)) is not None:
                    if not call.done():
                        call.set_result(answer)
                elif (lease := self._given_up.pop(answer.number, None)) is not None and not answer.error:
                    returning = asyncio.create_task(self._return(lease, answer))
                    self._returning.add(returning)
                    returning.add_done_callback(self._returning.discard)
        except (asyncio.IncompleteReadError, OSError):
            self.closed.set()
        finally:
            self.closed.set()
            for call in self._calls.values():
                if not call.done():
                    call.set_exception(StoreBusy("the connection to the queue is cut"))
            self._calls.clear()

    async def _call(self, method: str, *arguments: Any) -> Any:
        if self._writer is None or self.closed.is_set():
            raise StoreBusy("the connection to the queue is cut")
        self._number += 1
        number = self._number
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._calls[number] = future
        write_frame(self._writer, encode((number, method, arguments)))
        try:
            async with asyncio.timeout(LIMIT):
                answer = await future
        except TimeoutError:
            if future.cancelled():
                raise StoreBusy(f"the queue has not answered within {LIMIT:g} seconds") from None
            answer = future.result()  # it came at the same moment
        finally:
            if self._calls.pop(number, None) is not None and method in CLAIMS:
                self._given_up[number] = arguments[0]
        if answer.error:
            raise ERRORS.get(answer.error, StoreError)(decode_text(answer.result))
        decoder = ANSWERS.get(method)
        return decoder.decode(answer.result) if decoder else None

    async def _return(self, lease: int, answer: Answer) -> None:
        batch = cast(Batch, ANSWERS["claim"].decode(answer.result))
        if batch.tasks:
            log.warning("late_claim_handed_back", tasks=len(batch.tasks))
            with suppress(StoreError):  # then the lease's end frees them
                await self.hand_back(lease, [task.id for task in batch.tasks])

    async def open_lease(self, worker: WorkerInfo) -> int:
        return cast(int, await self._call("open_lease", worker))

    async def claim(self, lease: int, want: int) -> Batch:
        return cast(Batch, await self._call("claim", lease, want))

    async def claim_suspect(self, lease: int) -> Batch:
        return cast(Batch, await self._call("claim_suspect", lease))

    async def renew(self, lease: int) -> None:
        await self._call("renew", lease)

    async def settle(self, lease: int, outcomes: Sequence[Outcome]) -> Settled:
        return cast(Settled, await self._call("settle", lease, outcomes))

    async def hand_back(self, lease: int, tasks: Sequence[int]) -> None:
        await self._call("hand_back", lease, tasks)

    async def close_lease(self, lease: int) -> None:
        await self._call("close_lease", lease)

    async def report(self, tallies: Tallies) -> None:
        """Not of the queue: what this process has counted."""
        await self._call("report", tallies)

    def subscribe(self) -> asyncio.Event:
        return self._news


class WireServer:
    """Answers one client from the queue of this process, and passes wake-ups on to it. Once it has been
    stopped, nothing is done for that client any more, and `leases` stands still."""

    def __init__(
        self,
        queue: SqlQueue,
        sock: socket.socket,
        share: Share = Share.JOBS,
        heard: Callable[[Tallies], None] | None = None,
    ) -> None:
        self.queue = queue.limited_to(share)
        self.heard = heard
        self.leases: set[int] = set()  # opened over this wire and not closed
        self._sock = sock
        self._tasks: set[asyncio.Task[None]] = set()  # calls that are being answered
        self._reading: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def start(self) -> None:
        reader, self._writer = await asyncio.open_connection(sock=self._sock, limit=BUFFER)
        self._reading = asyncio.create_task(self._serve(reader, self._writer), name="wire-server")

    async def stop(self) -> None:
        reading, self._reading = self._reading, None
        if reading is not None:
            await _end(reading, *self._tasks)
        if self._writer is not None:
            self._writer.close()
        else:
            self._sock.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        waking = asyncio.create_task(self._pass_wakes(writer))
        try:
            while True:
                call = decode(await read_frame(reader), Call)
                assert isinstance(call, Call)  # noqa: S101 - what decode was asked for
                task = asyncio.create_task(self._answer(call, writer))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except (asyncio.IncompleteReadError, OSError):
            log.debug("wire_cut")
        finally:
            waking.cancel()
            writer.close()

    async def _pass_wakes(self, writer: asyncio.StreamWriter) -> None:
        news = self.queue.subscribe()
        while True:
            await news.wait()
            news.clear()
            write_frame(writer, encode((0, "", None)))

    async def _answer(self, call: Call, writer: asyncio.StreamWriter) -> None:
        try:
            arguments: Any = ARGUMENTS[call.method].decode(call.arguments)
            if call.method == "report":
                result: Any = self.heard and self.heard(*arguments)
            else:
                result = await getattr(self.queue, call.method)(*arguments)
            if call.method == "open_lease":
                self.leases.add(result)
            elif call.method == "close_lease":
                self.leases.discard(arguments[0])
            frame = encode((call.number, "", result))
        except FykeError as error:
            frame = encode((call.number, error.code, error.message))
        except Exception as error:  # a client must get an answer, whatever went wrong here
            log.exception("wire_call_failed", method=call.method)
            said = f"{type(error).__name__}: {error}"
            frame = encode((call.number, StoreError.code, said))
        if not writer.is_closing():  # the one who asked may have died meanwhile
            write_frame(writer, frame)


async def _end(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
