"""How far ahead of what runs a worker claims: as much as it will begin soon, judged by what it has just done.

A claim costs a transaction, so a worker that ends thousands of tasks a second claims many at a time, before
it has room for them. One whose tasks are slow claims what it can begin at once: a task that waits in a worker
waits for that worker, while another one is free, and whatever its priority is.
"""

from typing import Final

__all__ = ["Lookahead"]

SOON: Final = 0.05  # seconds
WINDOW: Final = 0.05  # seconds, at least, over which the pace is taken


class Lookahead:
    """Told of each task that ends; `most` is how far it goes."""

    def __init__(self, most: int, now: float) -> None:
        self.most = most
        self.tasks = 0
        self._ended = 0
        self._since = now

    def ended(self) -> None:
        self._ended += 1

    def look(self, now: float) -> int:
        """How many tasks to claim beyond those that can begin now."""
        passed = now - self._since
        if passed >= WINDOW:
            self.tasks = min(self.most, int(self._ended / passed * SOON))
            self._ended, self._since = 0, now
        return self.tasks
