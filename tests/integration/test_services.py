"""The servers that other tests rely on: they are fresh, private, and end when the session does."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncmy
import asyncpg
import pytest

from tests.processes import alive, process_state, wait_gone
from tests.servers import MariaDB, Postgres, Redis
from tests.services import ROOT, Services


async def test_postgres_database_is_empty_and_takes_rows(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    try:
        assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
        await connection.execute("CREATE TABLE t (i int)")
    finally:
        await connection.close()


async def test_mariadb_database_is_empty_and_takes_rows(services: Services, mysql_url: str) -> None:
    server = services.shared(MariaDB)
    name = mysql_url.rpartition("/")[2]
    connection = await asyncmy.connect(
        host="127.0.0.1", port=server.port, user="fyke", password=server.password, db=name
    )
    async with connection, connection.cursor() as cursor:
        await cursor.execute("SHOW TABLES")
        assert not await cursor.fetchall()
        await cursor.execute("CREATE TABLE t (i int) ENGINE=InnoDB")


def test_database_is_dropped_after(services: Services, postgres_url: str) -> None:
    server = services.shared(Postgres)
    with server.database() as url:
        name = url.rpartition("/")[2]
        assert name != postgres_url.rpartition("/")[2]
    with pytest.raises(RuntimeError, match=f'"{name}" does not exist'):
        server.execute(f"DROP DATABASE {name}")


def test_redis_database_is_empty(services: Services, redis_url: str) -> None:
    server = services.shared(Redis)
    number = redis_url.rpartition("/")[2]
    assert server.ask(f"SELECT {number}\r\nDBSIZE\r\n").split() == [b"+OK", b"+OK", b":0", b"+OK"]
    server.ask(f"SELECT {number}\r\nSET left behind\r\n")
    server.flush(int(number))
    assert b":0" in server.ask(f"SELECT {number}\r\nDBSIZE\r\n").split()


def test_database_url_names_each_kind_in_turn(database_url: str) -> None:
    assert database_url.partition(":")[0] in ("sqlite", "postgresql", "mysql")


def test_killed_postgres_comes_back_with_what_it_had_committed(own_postgres: Postgres) -> None:
    own_postgres.execute("CREATE TABLE t AS SELECT 42 AS i")
    port, pid = own_postgres.port, own_postgres.pid
    own_postgres.kill()
    assert not own_postgres.running
    own_postgres.start()
    assert own_postgres.port == port
    assert own_postgres.pid != pid
    own_postgres.execute("DO $$ BEGIN ASSERT (SELECT i FROM t) = 42; END $$")


def test_killed_mariadb_comes_back_with_what_it_had_committed(own_mariadb: MariaDB) -> None:
    own_mariadb.execute("CREATE DATABASE d; CREATE TABLE d.t (i int PRIMARY KEY) ENGINE=InnoDB")
    own_mariadb.execute("INSERT INTO d.t VALUES (42)")
    own_mariadb.kill()
    assert not own_mariadb.running
    own_mariadb.start()
    with pytest.raises(RuntimeError, match="Duplicate entry '42'"):
        own_mariadb.execute("INSERT INTO d.t VALUES (42)")


def test_server_can_be_restarted_and_paused(own_redis: Redis) -> None:
    pid = own_redis.pid
    own_redis.restart()
    assert own_redis.running
    assert own_redis.pid != pid
    own_redis.pause()
    assert process_state(own_redis.pid) == "T"
    own_redis.resume()
    assert own_redis.answers()


def test_nothing_outlives_a_session_that_was_killed(own_redis: Redis) -> None:
    """`own_redis` only makes sure that there is a Redis to start."""
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with session:
        assert session.stdout is not None
        directory, pid, keeper = session.stdout.readline().split()
        os.kill(session.pid, signal.SIGKILL)
    assert wait_gone(int(keeper), 30)
    assert not alive(int(pid))
    assert not Path(directory).exists()


SESSION = """
from tests.servers import Redis
from tests.services import Services
services = Services.make()
redis = services.shared(Redis)
print(services.directory, redis.pid, (services.directory / "keeper").read_text(), flush=True)
input()
"""
