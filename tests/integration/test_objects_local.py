"""What the local directory promises beyond the contract: whole files, whatever happens."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from fyke.core.errors import DiskFull
from fyke.objects.local import LocalObjects
from fyke.objects.protocol import CHUNK, ObjectNotFound, ObjectsUnusable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def objects(root: Path) -> LocalObjects:
    return LocalObjects(root)


def _fail(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
async def test_a_full_disk(
    objects: LocalObjects, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    await objects.put("exports/full.csv", b"old")
    made = tmp_path / "made"
    made.write_bytes(b"new")
    monkeypatch.setattr(os, "fsync", lambda _: _fail(number))
    with pytest.raises(DiskFull):
        await objects.put("exports/full.csv", b"new")
    with pytest.raises(DiskFull):
        await objects.put_file("exports/full.csv", made)
    assert (root / "exports/full.csv").read_bytes() == b"old"
    assert made.read_bytes() == b"new"
    assert os.listdir(root / ".incoming") == []


async def test_another_error_is_not_a_full_disk(
    objects: LocalObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: _fail(errno.EIO))
    with pytest.raises(ObjectsUnusable, match="Input/output"):
        await objects.put("key", b"x")


async def test_the_final_name_comes_after_the_sync(
    objects: LocalObjects, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = root / "exports/full.csv"
    seen: list[tuple[bool, bool]] = []
    sync = os.fsync

    def watch(descriptor: int) -> None:
        is_file = os.path.isfile(f"/dev/fd/{descriptor}")
        seen.append((is_file, final.exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    await objects.put("exports/full.csv", b"x" * 100)
    files = [there for is_file, there in seen if is_file]
    assert files == [False]
    assert seen[-1] == (False, True)  # its directory, after the rename


async def test_from_another_file_system(
    objects: LocalObjects, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def across(self: Path, target: Path) -> Path:
        if self.parent != root / ".incoming":
            _fail(errno.EXDEV)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", across)
    made = tmp_path / "made"
    made.write_bytes(b"body")
    await objects.put_file("key", made)
    assert (root / "key").read_bytes() == b"body"
    assert not made.exists()
    assert os.listdir(root / ".incoming") == []


async def test_an_object_deleted_while_it_is_read_is_read_to_its_end(objects: LocalObjects) -> None:
    body = os.urandom(3 * CHUNK)
    await objects.put("key", body)
    chunks = await objects.open("key")
    got = [await anext(chunks)]
    await objects.delete("key")
    got += [chunk async for chunk in chunks]
    assert b"".join(got) == body
    with pytest.raises(ObjectNotFound):
        await objects.open("key")


async def test_sweep_removes_what_crashed_writers_left(objects: LocalObjects, root: Path) -> None:
    await objects.put("key", b"x")
    incoming = root / ".incoming"
    (incoming / "fresh").write_bytes(b"being written")
    (incoming / "stale").write_bytes(b"left")
    (incoming / "staledir").mkdir()
    (incoming / "staledir" / "file").write_bytes(b"left")
    for name in ("stale", "staledir/file", "staledir"):
        os.utime(incoming / name, (0, 0))
    assert await objects.sweep() == 2
    assert os.listdir(incoming) == ["fresh"]
    assert (root / "key").read_bytes() == b"x"
