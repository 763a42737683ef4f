"""Watches the sockets of libcurl through one descriptor.

The event loop sees a single descriptor, and one wake-up serves every socket that is ready. With
a socket each in the loop (add_reader, remove_reader), a page cost 30 µs more.
"""

import selectors
from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT
from sys import platform
from typing import Protocol

import pycurl  # type: ignore[import-untyped]  # ships no types

__all__ = ["Poller", "new_poller"]

READ, WRITE = pycurl.POLL_IN, pycurl.POLL_OUT
AT_ONCE = 256


class Poller(Protocol):
    def fileno(self) -> int: ...
    def watch(self, fd: int, what: int) -> None: ...
    def rest(self, fd: int) -> None: ...
    def serve(self, act: Callable[[int, int], object]) -> None: ...
    def close(self) -> None: ...


if platform == "linux":
    from select import epoll

    class EpollPoller:
        """A socket that libcurl puts aside, because its connection is kept for the next request, stays
        registered: most often it is wanted again at once. Only if something happens on it meanwhile (the
        server closes) is it forgotten; libcurl finds out by itself when it next looks."""

        def __init__(self) -> None:
            self._epoll = epoll()
            self._resting: set[int] = set()
            self.fileno = self._epoll.fileno
            self.close = self._epoll.close

        def watch(self, fd: int, what: int) -> None:
            mask = (EPOLLIN if what & READ else 0) | (EPOLLOUT if what & WRITE else 0)
            self._resting.discard(fd)
            # Closed sockets leave an epoll by themselves and their numbers come again, so what is
            # registered is asked of the kernel and never remembered.
            try:
                self._epoll.modify(fd, mask)
            except FileNotFoundError:
                self._epoll.register(fd, mask)

        def rest(self, fd: int) -> None:
            self._resting.add(fd)

        def serve(self, act: Callable[[int, int], object]) -> None:
            resting = self._resting
            for fd, event in self._epoll.poll(0, AT_ONCE):
                if fd in resting:
                    self._forget(fd)
                    continue
                mask = READ if event & ~EPOLLOUT else 0
                if event & EPOLLOUT:
                    mask |= WRITE
                act(fd, mask)

        def _forget(self, fd: int) -> None:
            self._resting.discard(fd)
            try:
                self._epoll.unregister(fd)
            except OSError:
                return  # closed since the poll


class SelectorPoller:
    """The same by the standard library's selectors, for systems without epoll."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def fileno(self) -> int:
        return int(self._selector.fileno())

    def watch(self, fd: int, what: int) -> None:
        mask = (selectors.EVENT_READ if what & READ else 0) | (selectors.EVENT_WRITE if what & WRITE else 0)
        self.rest(fd)
        self._selector.register(fd, mask)

    def rest(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def serve(self, act: Callable[[int, int], object]) -> None:
        for key, events in self._selector.select(0):
            mask = (READ if events & selectors.EVENT_READ else 0) | (
                WRITE if events & selectors.EVENT_WRITE else 0
            )
            act(key.fd, mask)

    def close(self) -> None:
        self._selector.close()


def new_poller() -> Poller:
    return EpollPoller() if platform == "linux" else SelectorPoller()
