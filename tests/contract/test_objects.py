"""What every object store does, whatever is behind it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fyke.core.errors import Invalid
from fyke.objects.local import LocalObjects
from fyke.objects.protocol import CHUNK, ObjectNotFound, ObjectStore, ObjectsUnusable

BACKENDS: dict[str, Callable[[Path], ObjectStore]] = {"local": LocalObjects}


@pytest.fixture(params=sorted(BACKENDS))
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return BACKENDS[request.param](tmp_path / "objects")


async def read(objects: ObjectStore, key: str, offset: int = 0, length: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in await objects.open(key, offset, length)])


@pytest.mark.parametrize("body", [b"", b"hello", bytes(range(256)) * (CHUNK // 100)])
async def test_what_was_put_comes_back(objects: ObjectStore, body: bytes) -> None:
    await objects.put("a/b.bin", body)
    assert await read(objects, "a/b.bin") == body
    assert await objects.size("a/b.bin") == len(body)


async def test_a_file_is_taken_over(objects: ObjectStore, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(b"made elsewhere")
    await objects.put_file("exports/1/full.csv", path)
    assert await read(objects, "exports/1/full.csv") == b"made elsewhere"
    assert not path.exists()


async def test_a_file_that_is_not_there(objects: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await objects.put_file("exports/1/full.csv", tmp_path / "nothing")
    with pytest.raises(ObjectNotFound):
        await objects.size("exports/1/full.csv")


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        (0, None, b"0123456789"),
        (3, None, b"3456789"),
        (3, 4, b"3456"),
        (3, 0, b""),
        (8, 100, b"89"),
        (10, None, b""),
        (11, 5, b""),
    ],
)
async def test_ranges(objects: ObjectStore, offset: int, length: int | None, expected: bytes) -> None:
    await objects.put("digits", b"0123456789")
    assert await read(objects, "digits", offset, length) == expected


async def test_large_objects_come_in_chunks(objects: ObjectStore) -> None:
    body = bytes(3 * CHUNK + 5)
    await objects.put("large", body)
    chunks = [chunk async for chunk in await objects.open("large", 1)]
    assert len(chunks) > 1
    assert b"".join(chunks) == body[1:]


async def test_replaced_whole(objects: ObjectStore) -> None:
    await objects.put("key", b"a long first body")
    await objects.put("key", b"short")
    assert await read(objects, "key") == b"short"


async def test_missing(objects: ObjectStore) -> None:
    await objects.put("a/b", b"")
    for key in ("a", "a/c", "a/b/c"):
        with pytest.raises(ObjectNotFound):
            await objects.size(key)
        with pytest.raises(ObjectNotFound):
            await objects.open(key)


async def test_one_that_can_be_written_to(objects: ObjectStore, tmp_path: Path) -> None:
    await objects.check()
    await objects.put("a/b", b"1")
    await objects.check()
    assert [path.name for path in (tmp_path / "objects").rglob("*") if path.is_file()] == ["b"]


async def test_one_that_cannot_be_used(objects: ObjectStore, tmp_path: Path) -> None:
    """It says so, whatever is asked of it, and not that there is no such object."""
    (tmp_path / "objects").write_text("a file")
    (tmp_path / "made").write_text("made elsewhere")
    for asked in (
        objects.check(),
        objects.put("a/b", b"1"),
        objects.put_file("a/b", tmp_path / "made"),
        objects.size("a/b"),
        objects.open("a/b"),
        objects.names("a/"),
        objects.delete_prefix("a/"),
    ):
        with pytest.raises(ObjectsUnusable, match="cannot be used: not a directory"):
            await asked
    assert (tmp_path / "made").exists()
    (tmp_path / "objects").unlink()
    await objects.check()


async def test_deleting(objects: ObjectStore) -> None:
    await objects.put("a", b"x")
    await objects.delete("a")
    await objects.delete("a")
    await objects.delete("never/was")
    await objects.put("b/c", b"y")
    await objects.delete("b")
    await objects.delete("b/c/d")
    assert await read(objects, "b/c") == b"y"
    with pytest.raises(ObjectNotFound):
        await objects.size("a")


async def test_names(objects: ObjectStore) -> None:
    assert await objects.names("days/") == []
    for key in ("days/2026/2", "days/2025/12/x", "days/2025/7", "days/one", "daysoff/1", "a"):
        await objects.put(key, b"1")
    assert await objects.names("days/") == ["2025", "2026", "one"]
    assert await objects.names("days/2025/") == ["12", "7"]
    assert await objects.names("days/one/") == []


async def test_deleting_a_prefix(objects: ObjectStore) -> None:
    for key in ("jobs/1/a", "jobs/1/deep/b", "jobs/10/c", "jobs/d"):
        await objects.put(key, b"x")
    assert await objects.delete_prefix("jobs/1/") == 2
    assert await objects.delete_prefix("jobs/1/") == 0
    assert await objects.delete_prefix("jobs/none/at/all/") == 0
    assert await read(objects, "jobs/10/c") == b"x"
    assert await read(objects, "jobs/d") == b"x"
    await objects.put("jobs/1/a", b"again")
    assert await read(objects, "jobs/1/a") == b"again"


BAD_KEYS = [
    "",
    "/",
    "/etc/passwd",
    "../up",
    "a/../../up",
    "a/./b",
    "a//b",
    "a/",
    ".hidden",
    "a/.hidden",
    "a\\b",
    "a b",
    "a\n",
    "a\0b",
    "ä",
    "~/x",
    "C:x",
    "x" * 600,
]


@pytest.mark.parametrize("key", BAD_KEYS)
async def test_keys_that_are_none(objects: ObjectStore, key: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(b"x")
    with pytest.raises(Invalid, match="not an object key"):
        await objects.put(key, b"x")
    with pytest.raises(Invalid):
        await objects.put_file(key, path)
    with pytest.raises(Invalid):
        await objects.open(key)
    with pytest.raises(Invalid):
        await objects.size(key)
    with pytest.raises(Invalid):
        await objects.delete(key)
    with pytest.raises(Invalid):
        await objects.names(key + "/")
    with pytest.raises(Invalid):
        await objects.delete_prefix(key + "/")
    assert os.listdir(tmp_path) == [path.name]


async def test_a_prefix_ends_with_a_slash(objects: ObjectStore) -> None:
    for asked in (objects.names("jobs/1"), objects.delete_prefix("jobs/1")):
        with pytest.raises(Invalid, match="slash"):
            await asked
