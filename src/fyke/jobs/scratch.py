"""Where files are written before they become objects."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["scratch"]


@contextmanager
def scratch(directory: Path | None) -> Iterator[Path]:
    """A directory of its own, in the one given (the system's, without), for as long as it takes. Best is one
    on the file system of the objects, and one that is swept of what killed processes leave."""
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fyke-", dir=directory) as made:
        yield Path(made)
