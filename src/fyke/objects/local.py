"""The object store in a local directory.

A file is written or moved into `.incoming` beside the objects, synced, renamed to its final name, and
its directory synced: a crash at any moment leaves the object whole, as it was, or absent. No key can
start with a dot, so `.incoming` is out of their reach.
"""

import errno
import os
import shutil
from asyncio import Future, ensure_future, shield, to_thread
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG

from fyke.core import clock
from fyke.core.errors import DiskFull
from fyke.objects.protocol import CHUNK, KEY, ObjectNotFound, ObjectsUnusable, check_key, check_prefix

__all__ = ["LocalObjects", "clear_abandoned", "full_disk"]

ABANDONED = 24 * 3600 * clock.SECOND


@contextmanager
def full_disk() -> Iterator[None]:
    """A full disk, or a used-up quota, is DiskFull."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull from error
        raise


@contextmanager
def usable() -> Iterator[None]:
    """A full disk is DiskFull, whatever else stands in the way ObjectsUnusable; no path is told."""
    try:
        with full_disk():
            yield
    except (FileExistsError, NotADirectoryError) as error:
        raise ObjectsUnusable("the object store cannot be used: not a directory") from error
    except OSError as error:
        raise ObjectsUnusable(f"the object store cannot be used: {error.strerror}") from error


class LocalObjects:
    """Objects as files under `root`, which is made when it is first written to."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = root / ".incoming"
        self._checking: Future[None] | None = None

    async def check(self) -> None:
        if self._checking is None or self._checking.done():  # one that hangs takes one thread, not all
            self._checking = ensure_future(to_thread(self._try_out))
        await shield(self._checking)

    async def put_file(self, key: str, path: Path) -> None:
        await to_thread(self._put_file, self._path(key), path)

    async def put(self, key: str, body: bytes) -> None:
        await to_thread(self._put, self._path(key), body)

    async def open(self, key: str, offset: int = 0, length: int | None = None) -> AsyncGenerator[bytes, None]:
        size = await self.size(key)
        end = size if length is None else min(size, offset + length)
        return self._read(self._path(key), offset, end)

    async def size(self, key: str) -> int:
        return await to_thread(self._size, key)

    async def names(self, prefix: str) -> list[str]:
        return await to_thread(self._names, self._root / check_prefix(prefix))

    async def delete(self, key: str) -> None:
        await to_thread(self._delete, self._path(key))

    async def delete_prefix(self, prefix: str) -> int:
        return await to_thread(self._delete_tree, self._root / check_prefix(prefix))

    async def sweep(self) -> int:
        """Remove what crashed writers left behind more than a day ago; how many files that were."""
        return await to_thread(clear_abandoned, self._incoming)

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    def _new(self) -> Path:
        _make(self._incoming)
        return self._incoming / token_hex(16)

    def _try_out(self) -> None:
        with usable():
            written = self._new()
            try:
                written.write_bytes(b"?")
            finally:
                written.unlink(missing_ok=True)

    def _put(self, final: Path, body: bytes) -> None:
        with usable():
            temporary = self._new()
            try:
                temporary.write_bytes(body)
                _finish(temporary, final)
            finally:
                temporary.unlink(missing_ok=True)

    def _put_file(self, final: Path, path: Path) -> None:
        path.stat()  # that it is not there is not the store's fault
        with usable():
            try:
                _finish(path, final)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._copy(path, final)

    def _copy(self, path: Path, final: Path) -> None:
        """From another file system; the source goes last, so that a failure loses nothing."""
        temporary = self._new()
        try:
            shutil.copyfile(path, temporary)
            _finish(temporary, final)
        finally:
            temporary.unlink(missing_ok=True)
        path.unlink()

    def _size(self, key: str) -> int:
        with usable():
            try:
                found = self._path(key).stat()
            except (FileNotFoundError, NotADirectoryError):
                if self._root.exists() and not self._root.is_dir():
                    raise
                raise ObjectNotFound(f"there is no object {key!r}") from None
        if not S_ISREG(found.st_mode):
            raise ObjectNotFound(f"there is no object {key!r}")
        return found.st_size

    def _names(self, directory: Path) -> list[str]:
        with usable():
            try:
                return sorted(path.name for path in directory.iterdir() if KEY.fullmatch(path.name))
            except (FileNotFoundError, NotADirectoryError):
                if self._root.exists() and not self._root.is_dir():
                    raise
                return []

    async def _read(self, path: Path, offset: int, end: int) -> AsyncGenerator[bytes, None]:
        if offset >= end:
            return
        file = await to_thread(path.open, "rb", 0)
        try:
            file.seek(offset)
            while offset < end:
                chunk = await to_thread(file.read, min(CHUNK, end - offset))
                if not chunk:
                    return
                offset += len(chunk)
                yield chunk
        finally:
            file.close()

    def _delete(self, path: Path) -> None:
        if path.is_file():
            path.unlink(missing_ok=True)

    def _delete_tree(self, directory: Path) -> int:
        """Out of sight by one rename, then file by file."""
        with usable():
            hidden = self._new()
        try:
            directory.rename(hidden)
        except (FileNotFoundError, NotADirectoryError):
            return 0
        count = sum(path.is_file() for path in hidden.rglob("*"))
        shutil.rmtree(hidden, ignore_errors=True)  # a sweep may be at it, too, or finds the rest
        return count


def clear_abandoned(directory: Path) -> int:
    """Remove what in a directory of files being written has not changed for more than a day; how much."""
    before = clock.now() - ABANDONED
    count = 0
    for path in directory.glob("*"):
        if _changed_at(path) < before:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            count += 1
    return count


def _changed_at(path: Path) -> int:
    """When a file, or anything in a directory, was last written to; what has just gone is new."""
    try:
        return max(one.stat().st_mtime_ns for one in (path, *path.rglob("*"))) // 1000
    except FileNotFoundError:
        return clock.now()


def _finish(path: Path, final: Path) -> None:
    """Give a written file its final name, for good."""
    _sync(path)
    _make(final.parent)
    path.replace(final)
    _sync(final.parent)


def _make(directory: Path) -> None:
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(exist_ok=True)
        _sync(directory.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
