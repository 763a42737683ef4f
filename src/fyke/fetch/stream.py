"""A response that is read piece by piece, in constant memory."""

from asyncio import Event, Future
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from fyke.core.page import ErrorClass, Failed, Page
from fyke.fetch.headers import Head
from fyke.fetch.inflate import BadEncoding
from fyke.fetch.multi import ABORTED, Multi, Result
from fyke.fetch.problems import Problem
from fyke.fetch.transfer import Transfer
from fyke.fetch.trip import Trip

__all__ = ["Stream"]


class Stream:
    """`async for piece in stream` gives the body, inflated. When the loop ends, `failed` says whether
    that was the end of the body (None) or a fault. Whoever reads slowly slows the server down."""

    def __init__(
        self, multi: Multi, trip: Trip, transfer: Transfer, give_back: Callable[[Transfer], None]
    ) -> None:
        self.failed: Failed | None = None
        self._multi = multi
        self._trip = trip
        self._transfer = transfer
        self._give_back = give_back
        self._inflated = 0
        self._full = False  # what fits has been taken
        self._news = Event()
        self._future: Future[Result] | None = None
        self._closed = False
        transfer.on_chunk = self._news.set

    @property
    def head(self) -> Head:
        return self._transfer.head or Head(0, (), 0, {})

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        return self.head.headers

    @property
    def final_url(self) -> str:
        return self._trip.url

    @property
    def history(self) -> tuple[str, ...]:
        return self._trip.history

    @property
    def bytes_in(self) -> int:
        """Bytes over the wire so far, headers and all hops included."""
        return self._trip.bytes_in + self._transfer.bytes_in

    def page(self) -> Page:
        """The answer without its body, for what its head says."""
        page = self._trip.page(self.head, b"", None)
        return replace(page, bytes_in=self.bytes_in)

    async def begin(self) -> Problem | None:
        """Send the request and wait for the body to begin, or for the end."""
        self._future = self._multi.perform(self._transfer.curl)
        self._future.add_done_callback(lambda _: self._news.set())
        await self._news.wait()
        if self._transfer.problem is not None or (self._future.done() and self._future.result()[0]):
            return self._transfer.finish(await self._future)
        if self._future.done():
            self._transfer.ensure_head()
            return self._transfer.problem
        return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._future is None or self._closed:
            return
        while True:
            chunks = self._transfer.take_chunks()
            if self._transfer.paused and not self._future.done():
                ended = self._transfer.resume()
                if ended is not None:
                    self._multi.abort(self._transfer.curl, ended)
            if not chunks:
                if self._future.done():
                    break
                self._news.clear()
                await self._news.wait()
                continue
            for chunk in chunks:
                for piece in self._inflate(chunk):
                    yield piece
                if self.failed is not None or self._full:
                    return
        problem = self._transfer.finish(self._future.result())
        if problem is not None:
            self._fail(problem)

    def close(self) -> None:
        """Give the connection up (or back, when all has been read). Twice is safe."""
        if self._closed:
            return
        self._closed = True
        self._multi.abort(self._transfer.curl, (ABORTED, "the stream was closed"))
        self._transfer.on_chunk = None
        self._give_back(self._transfer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        inflater = self._transfer.inflater
        limit = self._trip.ask.inflated_bytes
        try:
            for piece in (chunk,) if inflater is None else inflater.feed(chunk):
                self._inflated += len(piece)
                if self._inflated > limit and self._trip.ask.truncate:
                    self._full = True
                    yield piece[: len(piece) - (self._inflated - limit)]
                    return
                if self._inflated > limit:
                    problem = (ErrorClass.INFLATED_TOO_LARGE, f"the body inflates to more than {limit} bytes")
                    return self._fail(problem)
                yield piece
        except BadEncoding as error:
            self._fail((ErrorClass.BAD_ENCODING, str(error)))

    def _fail(self, problem: Problem) -> None:
        failed = self._trip.failed(problem, self.head)
        self.failed = replace(failed, bytes_in=self.bytes_in)
