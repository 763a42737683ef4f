"""Migrations on every database: from nothing to the schema, once, whoever else does it at the same time,
and however often they were killed on the way."""

import asyncio
import sys
from pathlib import Path

import pytest

from fyke.core.errors import SchemaTooNew
from fyke.store.conn import Conn, Database
from fyke.store.migrate import check, current, head, migrate
from fyke.store.open import database_for
from fyke.store.schema import metadata
from tests.contract.schema_texts import forget_all, make_from_metadata, texts

ROOT = Path(__file__).parents[2]

MIGRATE = """
import asyncio, sys
from fyke.store.migrate import migrate
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(migrate(sys.argv[1]))
"""

# kill -9 right after so many changes of the schema.
MIGRATE_AND_DIE = """
import asyncio, os, signal, sys
from itertools import count
from sqlalchemy import Engine, event
from fyke.store.migrate import migrate
changes = count(1)
@event.listens_for(Engine, "after_cursor_execute")
def die(conn, cursor, statement, parameters, context, executemany):
    if statement.lstrip().startswith("CREATE") and next(changes) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(migrate(sys.argv[1]))
"""


async def execute(url: str, sql: str, *args: object) -> None:
    database: Database = database_for(url, connections=2)
    await database.open()
    try:

        async def work(conn: Conn) -> None:
            await conn.execute(sql, *args)

        await database.write(work)
    finally:
        await database.close()


async def program(code: str, *args: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        *args,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def test_a_migration_has_nothing_to_warn_of(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"):
        await migrate(database_url)
    assert caplog.messages == []


async def test_from_nothing_to_the_schema_and_a_second_run_changes_nothing(database_url: str) -> None:
    assert await current(database_url) is None
    assert not await check(database_url)
    assert await migrate(database_url) == head()
    assert await current(database_url) == head()
    assert await check(database_url)
    made = await texts(database_url)
    assert set(made) == set(metadata.tables)
    await execute(database_url, "INSERT INTO leases (id, worker, host) VALUES (7, 'w', 'h')")
    assert await migrate(database_url) == head()
    assert await texts(database_url) == made
    kept = "(SELECT id FROM leases WHERE id = 7) kept"
    await execute(database_url, f"UPDATE leases SET pid = 1 / (SELECT count(*) FROM {kept})")


async def test_the_sum_of_the_migrations_is_the_schema(database_url: str) -> None:
    await migrate(database_url)
    migrated = await texts(database_url)
    await forget_all(database_url)
    assert await texts(database_url) == {}
    if database_url.startswith("postgres"):
        assert any("autovacuum_vacuum_scale_factor=0.02" in part for part in migrated["tasks"])
    await make_from_metadata(database_url)
    assert migrated == await texts(database_url)


async def test_processes_that_migrate_at_once_do_it_once(database_url: str) -> None:
    programs = [await program(MIGRATE, database_url) for _ in range(3)]
    try:
        for one in programs:
            assert one.stdout is not None
            assert await one.stdout.readline() == b"ready\n"
        answers = await asyncio.gather(*(one.communicate(b"go\n") for one in programs))
    finally:
        for one in programs:
            if one.returncode is None:
                one.kill()
                await one.wait()
    assert [one.returncode for one in programs] == [0, 0, 0], answers
    assert await current(database_url) == head()
    assert set(await texts(database_url)) == set(metadata.tables)


async def test_two_that_migrate_at_once_in_one_process_do_it_once(database_url: str) -> None:
    async with asyncio.timeout(60):
        versions = await asyncio.gather(*(migrate(database_url) for _ in range(2)))
    assert versions == [head(), head()]
    assert set(await texts(database_url)) == set(metadata.tables)


@pytest.mark.parametrize("changes", [2, 30])
async def test_a_migration_that_was_killed_is_run_again(database_url: str, changes: int) -> None:
    """On MySQL, what it made before is there; elsewhere nothing is. Both are gone on from."""
    dying = await program(MIGRATE_AND_DIE, database_url, str(changes))
    _, complaint = await dying.communicate()
    assert dying.returncode == -9, complaint
    assert await current(database_url) is None
    left = await texts(database_url)
    assert bool(left) == database_url.startswith("mysql")
    assert len(left) < len(metadata.tables)
    assert await migrate(database_url) == head()
    migrated = await texts(database_url)
    await forget_all(database_url)
    await make_from_metadata(database_url)
    assert migrated == await texts(database_url)


async def test_a_newer_schema_is_refused_with_both_versions_named(database_url: str) -> None:
    await migrate(database_url)
    await execute(database_url, "UPDATE alembic_version SET version_num = '9042'")
    before = await texts(database_url)
    for refuse in (check, migrate):
        with pytest.raises(SchemaTooNew) as refused:
            await refuse(database_url)
        assert "9042" in str(refused.value)
        assert head() in str(refused.value)
    assert await current(database_url) == "9042"
    assert await texts(database_url) == before
