"""libcurl's multi handle on an asyncio loop: transfers in, results out."""

from asyncio import AbstractEventLoop, Future, Handle, TimerHandle
from math import inf
from typing import Final

import pycurl  # type: ignore[import-untyped]  # ships no types

from fyke.fetch.poller import Poller, new_poller

__all__ = ["ABORTED", "OK", "Multi", "Result", "client_library"]

Result = tuple[int, str]  # libcurl's code (0 is success) and its message

OK: Final[Result] = (0, "")
ABORTED: Final = pycurl.E_ABORTED_BY_CALLBACK


def client_library() -> str:
    """The library and its version, for people."""
    return str(pycurl.version.split()[1])


class Multi:
    """Drives any number of transfers. A transfer is an easy handle; `perform` gives a future of its
    result, and a handle may be used again once that is there."""

    def __init__(self, loop: AbstractEventLoop, connections: int, poller: Poller | None = None) -> None:
        self._loop = loop
        self._poller = poller or new_poller()
        self._waiting: dict[pycurl.Curl, Future[Result]] = {}
        self._soon: Handle | None = None
        self._timer: TimerHandle | None = None
        self._due = inf
        self._closed = False
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        loop.add_reader(self._poller.fileno(), self._on_ready)

    def perform(self, curl: pycurl.Curl) -> Future[Result]:
        future: Future[Result] = self._loop.create_future()
        self._multi.add_handle(curl)
        self._waiting[curl] = future
        return future

    def abort(self, curl: pycurl.Curl, result: Result) -> None:
        """End a transfer now, with this result; its connection is closed. No call for one that is over."""
        future = self._waiting.pop(curl, None)
        if future is None:
            return
        self._multi.remove_handle(curl)
        if not future.done():
            future.set_result(result)

    def close(self) -> None:
        """Abort what runs and close all connections. A second call does nothing."""
        if self._closed:
            return
        for curl in list(self._waiting):
            self.abort(curl, (ABORTED, "the client was stopped"))
        self._closed = True
        self._loop.remove_reader(self._poller.fileno())
        for handle in (self._soon, self._timer):
            if handle is not None:
                handle.cancel()
        self._multi.close()
        self._poller.close()

    def _on_socket(self, what: int, fd: int, multi: object, data: object) -> None:
        if self._closed:
            return
        if what & (pycurl.POLL_IN | pycurl.POLL_OUT) and what != pycurl.POLL_REMOVE:
            self._poller.watch(fd, what)
        else:
            self._poller.rest(fd)

    def _on_timer(self, milliseconds: int) -> None:
        if self._closed:
            return
        if milliseconds == 0:
            if self._soon is None:  # not now: libcurl is in the middle of something
                self._soon = self._loop.call_soon(self._on_soon)
        elif milliseconds < 0:
            self._due = inf
        else:
            # libcurl moves its timer with every transfer. A timer of the loop that fires too early only
            # looks again, which is cheaper than to cancel and set one for each page.
            self._due = self._loop.time() + milliseconds / 1000
            if self._timer is None or self._timer.when() > self._due:
                self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._due, self._on_due)

    def _on_due(self) -> None:
        self._timer = None
        if self._due == inf:
            return
        if self._loop.time() < self._due:
            self._set_timer()
            return
        self._due = inf
        self._on_soon()

    def _on_soon(self) -> None:
        self._soon = None
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _on_ready(self) -> None:
        self._poller.serve(self._multi.socket_action)
        self._collect()

    def _collect(self) -> None:
        """Hand out the results of the transfers that are over."""
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read(200)
            for curl in succeeded:
                self._finish(curl, OK)
            for curl, code, message in failed:
                self._finish(curl, (code, message))

    def _finish(self, curl: pycurl.Curl, result: Result) -> None:
        self._multi.remove_handle(curl)
        future = self._waiting.pop(curl)
        if not future.done():
            future.set_result(result)
