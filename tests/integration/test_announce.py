"""Where a server can be reached, as commands read it from the data directory."""

import asyncio
import fcntl
from pathlib import Path

import pytest

from fyke.cli import announce
from fyke.cli.announce import NAME, Address, Announced, announced

FIRST, SECOND = Address("127.0.0.1", 8000), Address("127.0.0.1", 8001)


async def test_the_address_stands_from_start_to_stop(tmp_path: Path) -> None:
    server = Announced(tmp_path / "data", lambda: Address("0.0.0.0", 8000))
    assert announced(tmp_path / "data") is None
    await server.start()
    assert announced(tmp_path / "data") == FIRST
    await server.stop()
    await server.stop()
    assert announced(tmp_path / "data") is None


async def test_a_command_that_looks_at_the_moment_of_the_start_does_no_harm(tmp_path: Path) -> None:
    server = Announced(tmp_path, lambda: FIRST)
    (tmp_path / NAME).touch()
    with (tmp_path / NAME).open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        starting = asyncio.create_task(server.start())
        await asyncio.wait([starting], timeout=0.1)
    await starting
    assert announced(tmp_path) == FIRST
    await server.stop()


async def test_of_several_servers_the_first_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announce, "PATIENCE", 0.05)
    first, second = Announced(tmp_path, lambda: FIRST), Announced(tmp_path, lambda: SECOND)
    await first.start()
    await second.start()
    assert announced(tmp_path) == FIRST
    await second.stop()
    assert announced(tmp_path) == FIRST
    await first.stop()
