"""The lease queue in SQL."""

from fyke.store.queue.main import SqlQueue

__all__ = ["SqlQueue"]
