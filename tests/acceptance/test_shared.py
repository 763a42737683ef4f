"""Several processes around a shared database: migrated first, one serves, others work."""

import asyncio
import signal

import pytest

from fyke.store.conn import Conn
from fyke.store.open import database_for
from tests.acceptance.command import LONGEST, Fyke
from tests.acceptance.test_kill import when_asked
from tests.acceptance.test_serve import FREE, count_pages, ready
from tests.integration.jobs.site import Site, sitemap_of
from tests.processes import family, wait_gone

PAGES = 120


@pytest.fixture(params=["postgres", "mariadb"])
def shared(request: pytest.FixtureRequest, fyke: Fyke) -> Fyke:
    """Commands on an empty shared database."""
    url = request.getfixturevalue({"postgres": "postgres_url", "mariadb": "mysql_url"}[request.param])
    (fyke.directory / "policies.yaml").write_text(FREE)
    fyke.settings |= {
        "FYKE_DATABASE_URL": url,
        "FYKE_POLICIES": "policies.yaml",
        "FYKE_CONCURRENCY": "8",
        "FYKE_LEASE_SECONDS": "2",
    }
    return fyke


@pytest.fixture
def on_postgres(postgres_url: str, fyke: Fyke) -> Fyke:
    """Commands on an empty database of PostgreSQL."""
    fyke.settings["FYKE_DATABASE_URL"] = postgres_url
    return fyke


async def set_version(url: str, version: str) -> None:
    async def write(conn: Conn) -> None:
        await conn.execute("UPDATE alembic_version SET version_num = $1", version)

    database = database_for(url, connections=2)
    await database.open()
    try:
        await database.write(write)
    finally:
        await database.close()


async def test_the_schema_comes_first(shared: Fyke) -> None:
    status = (await shared.run("db", "status", "--json")).json
    assert status["version"] is None
    for command in ("serve", "worker"):
        refused = await shared.run(command, FYKE_LOG_LEVEL="ERROR")
        assert refused.code == 1
        assert "not at this version's schema: run `" in refused.line
        assert "fyke db migrate`" in refused.line
    for _ in range(2):
        done = await shared.run("db", "migrate", "--json")
        assert (done.code, done.json) == (0, {"version": status["known"]})
    assert (await shared.run("db", "status", "--json")).json == {
        "version": status["known"],
        "known": status["known"],
    }

    await set_version(shared.settings["FYKE_DATABASE_URL"], "9999_later")
    for command in ("worker", "db migrate"):
        refused = await shared.run(*command.split(), FYKE_LOG_LEVEL="ERROR")
        assert refused.code == 1
        assert f"at schema 9999_later, this Fyke knows up to {status['known']}" in refused.line
    doctor = await shared.run("doctor", "--json")
    assert (doctor.code, doctor.json["ok"]) == (1, False)


async def test_workers_beside_the_server_one_of_them_killed(shared: Fyke, web: Site) -> None:
    assert (await shared.run("db", "migrate")).code == 0
    server, _ = await shared.serve("--workers", "0")
    workers = [await shared.start("worker", "--json") for _ in range(2)]
    for worker in workers:
        await worker.says('{"worker":"')
    paths = web.products(PAGES)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    when_asked(web, paths[50], workers[0].kill)
    made = await shared.run("jobs", "create", web.url("/sitemap.xml"), "--concurrency", "16", "--json")
    watched = await shared.run("jobs", "watch", made.json["id"], "--json")
    assert (watched.code, watched.json["succeeded"]) == (0, PAGES)
    assert (await workers[0].ended()).code == -signal.SIGKILL
    pages = (await shared.run("jobs", "pages", made.json["id"], "--limit", "500", "--json")).json
    assert [page["url"] for page in pages] == list(web.urls(paths))
    assert all(1 <= web.hits[path] <= 2 for path in paths)
    for running in (workers[1], server):
        running.send(signal.SIGTERM)
        assert (await running.ended()).code == 0
    without = (await shared.run("jobs", "list", "--json")).json
    assert [job["state"] for job in without] == ["succeeded"]


async def test_metrics_count_what_worker_processes_did(shared: Fyke, web: Site) -> None:
    assert (await shared.run("db", "migrate")).code == 0
    await count_pages(shared, web)


async def test_worker_processes_end_with_a_server_that_is_killed(on_postgres: Fyke) -> None:
    """They finish what they have begun, and leave no lease behind."""
    assert (await on_postgres.run("db", "migrate")).code == 0
    server, address = await on_postgres.serve("--workers", "2")
    await ready(address)
    workers = family(server.pid)[1:]
    for pid in workers:
        await server.says(f'-{pid}"', server.err)
    server.kill()
    assert [await asyncio.to_thread(wait_gone, pid, LONGEST) for pid in workers] == [True, True]
    assert (await server.ended()).err.count("the server is gone") == 2
    database = database_for(on_postgres.settings["FYKE_DATABASE_URL"], connections=2)
    await database.open()
    try:
        assert await database.read(lambda conn: conn.fetch("SELECT worker FROM leases")) == []
    finally:
        await database.close()


async def test_a_server_that_fails_to_start_leaves_no_worker_process(on_postgres: Fyke) -> None:
    """Whoever held its standard error would keep this from ending."""
    assert (await on_postgres.run("db", "migrate")).code == 0
    (on_postgres.data / "admin.key").mkdir(parents=True)
    refused = await on_postgres.run("serve", "--port", "0", "--workers", "2")
    assert refused.code == 1


async def test_a_newer_embedded_database_is_refused(fyke: Fyke) -> None:
    known = (await fyke.run("db", "migrate", "--json")).json["version"]
    await set_version(f"sqlite:///{fyke.data}/fyke.db", "9999_later")
    for command in ("serve", "crawl http://127.0.0.1:9/", "jobs list"):
        refused = await fyke.run(*command.split())
        assert refused.code == 1
        assert f"at schema 9999_later, this Fyke knows up to {known}" in refused.line
