"""The object store as the other rooms see it, and the keys it takes."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final, Protocol

from fyke.core.errors import FykeError, Invalid, NotFound

__all__ = [
    "CHUNK",
    "KEY",
    "ObjectNotFound",
    "ObjectStore",
    "ObjectsUnusable",
    "Readable",
    "check_key",
    "check_prefix",
]

CHUNK: Final = 1 << 18
MAX_KEY: Final = 512
NAME: Final = r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}"
KEY: Final = re.compile(rf"{NAME}(?:/{NAME})*")


class ObjectNotFound(NotFound):
    """There is no such object."""

    code = "object_not_found"


class ObjectsUnusable(FykeError):
    """The object store cannot be used."""

    code = "object_store_error"
    status = 503


class Readable(Protocol):
    """Something that objects can be read from."""

    async def open(self, key: str, offset: int = 0, length: int | None = None) -> AsyncGenerator[bytes, None]:
        """The object's bytes in chunks, from `offset`, at most `length` of them. Whoever may stop before
        their end closes it."""
        ...


class ObjectStore(Readable, Protocol):
    """Bytes under keys such as `exports/7f/full.csv`.

    An object is there whole or not at all, and never changes but by being replaced whole. Keys are
    checked by every implementation, and no key may be the directory of another; a missing object is
    ObjectNotFound, a full disk DiskFull, a store that is not there or takes nothing ObjectsUnusable.
    """

    async def check(self) -> None:
        """Raise what stands in the way of writing an object."""
        ...

    async def put_file(self, key: str, path: Path) -> None:
        """Take a finished local file over as the object; afterwards it is gone from `path`."""
        ...

    async def put(self, key: str, body: bytes) -> None:
        """Make `body` the object."""
        ...

    async def size(self, key: str) -> int:
        """How many bytes the object has."""
        ...

    async def names(self, prefix: str) -> list[str]:
        """What comes next in the keys under `prefix`, which ends with a slash: up to the following slash, or
        the end; in order, each once."""
        ...

    async def delete(self, key: str) -> None:
        """Make sure that there is no such object."""
        ...

    async def delete_prefix(self, prefix: str) -> int:
        """Delete all objects under `prefix`, which ends with a slash; how many there were."""
        ...


def check_key(key: str) -> str:
    """The key itself; Invalid unless it is a plain relative path: names of letters, digits, `.`, `_`
    and `-` that start with no dot. Nothing in it can lead out of the store."""
    if len(key) > MAX_KEY or not KEY.fullmatch(key):
        raise Invalid(f"{key[:80]!r} is not an object key", field="key")
    return key


def check_prefix(prefix: str) -> str:
    """The prefix without its closing slash, checked like a key."""
    if not prefix.endswith("/"):
        raise Invalid(f"the prefix {prefix[:80]!r} does not end with a slash", field="prefix")
    return check_key(prefix[:-1])
