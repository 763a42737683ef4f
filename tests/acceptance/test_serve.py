"""`fyke serve`, and the commands that talk to it or do without."""

import asyncio
import json
import os
import signal
import stat
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.acceptance.command import LONGEST, Fyke
from tests.acceptance.exported import rows
from tests.acceptance.looks import ask, leased
from tests.acceptance.test_kill import when_asked
from tests.integration.jobs.site import Site, index_of, sitemap_of
from tests.processes import alive, family, free_port, send

PAGES = 120
FREE = "default:\n  delay: 0\n  concurrency: 0\n"
LOOK = 0.05


@pytest.fixture
def quick(fyke: Fyke) -> Fyke:
    """No delays, as the operator of the site may allow himself; few tasks at once, so that all get some."""
    (fyke.directory / "policies.yaml").write_text(FREE)
    fyke.settings |= {"FYKE_POLICIES": "policies.yaml", "FYKE_CONCURRENCY": "8"}
    return fyke


def get(url: str, token: str | None = None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urlopen(Request(url, headers=headers), timeout=20) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


async def submitted(fyke: Fyke, web: Site, paths: list[str]) -> str:
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    made = await fyke.run("jobs", "create", web.url("/sitemap.xml"), "--concurrency", "16", "--json")
    assert made.code == 0, made
    return str(made.json["id"])


async def test_without_configuration(fyke: Fyke) -> None:
    server, address = await fyke.serve()
    assert address.startswith("http://127.0.0.1:")
    key = fyke.data / "admin.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    token = key.read_text().strip()
    assert await asyncio.to_thread(get, f"{address}/health") == 200
    assert await asyncio.to_thread(get, f"{address}/api/v1/jobs") == 401
    assert await asyncio.to_thread(get, f"{address}/api/v1/jobs", "wrong") == 401
    assert await asyncio.to_thread(get, f"{address}/api/v1/jobs", token) == 200
    server.send(signal.SIGTERM)
    done = await server.ended()
    assert done.code == 0
    assert token not in done.out + done.err
    assert (await fyke.run("keys", "list", "--json")).json[0]["name"] == "admin"


async def test_commands_ask_the_server_that_runs(quick: Fyke, web: Site, tmp_path: Path) -> None:
    _, address = await quick.serve()
    job = await submitted(quick, web, [*web.products(10), "/gone"])
    watched = await quick.run("jobs", "watch", job, "--json")
    assert (watched.code, watched.json["state"]) == (4, "partial")
    exports = (await quick.run("exports", "list", "--job", job, "--json")).json
    full = next(x["id"] for x in exports if (x["type"], x["format"]) == ("full", "csv"))
    assert len(exports) == 9
    assert (await quick.run("exports", "get", full, "--out", tmp_path / "f.csv")).out == f"{tmp_path}/f.csv"
    assert len(rows(tmp_path / "f.csv")) == 11
    made = await quick.run("keys", "create", "reader", "--scope", "read,submit")
    assert await asyncio.to_thread(get, f"{address}/api/v1/jobs", made.out) == 200
    key = made.err.removeprefix("Its id is ").split(",")[0]
    assert made.err.splitlines() == [f"Its id is {key}, it may submit, read."]
    assert (await quick.run("keys", "revoke", key)).code == 0
    assert await asyncio.to_thread(get, f"{address}/api/v1/jobs", made.out) == 401
    (quick.data / "admin.key").unlink()
    refused = await quick.run("jobs", "list")
    assert "a server runs, but its admin key is not in" in refused.line


async def test_what_the_guard_refuses_ends_with_3_whoever_looks(fyke: Fyke) -> None:
    refused = "http://10.0.0.1/"
    assert (await fyke.run("crawl", refused)).code == 3
    for with_server in (False, True):
        if with_server:
            await fyke.serve()
        for source in (refused, f"{refused}sitemap.xml", f"{refused}page"):
            done = await fyke.run("jobs", "create", source)
            assert (done.code, "a private network" in done.line) == (3, True), done


async def test_commands_do_without_a_server(quick: Fyke, web: Site, tmp_path: Path) -> None:
    job = (await quick.crawl(web.url(web.products(1)[0]), tmp_path / "out", "--json")).json["job"]
    listed = (await quick.run("jobs", "list", "--state", "succeeded", "--json")).json
    assert [found["id"] for found in listed] == [job]
    pages = (await quick.run("jobs", "pages", job, "--json")).json
    assert [page["url"] for page in pages] == [web.url("/p/0")]
    made = await quick.run("exports", "make", job, "--type", "seo", "--format", "jsonl", "--json")
    assert (made.code, made.json["row_count"]) == (0, 1)
    assert (await quick.run("keys", "list", "--json")).json[0]["name"] == "admin"
    assert (await quick.run("jobs", "delete", job)).code == 0
    missing = await quick.run("jobs", "show", job)
    assert (missing.code, missing.line) == (1, "fyke: There is no such job.")


async def test_a_second_server_and_a_port_in_use(fyke: Fyke, tmp_path: Path) -> None:
    server, address = await fyke.serve()
    second = await fyke.run("serve", "--port", free_port())
    assert second.code == 1
    assert f"is in use by fyke serve (pid {server.pid})" in second.line
    port = address.rpartition(":")[2]
    other = await fyke.run("serve", "--port", port, FYKE_DATA_DIR=tmp_path / "other", FYKE_LOG_LEVEL="ERROR")
    assert other.code == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in other.line
    server.kill()
    await server.ended()
    left = await fyke.run("jobs", "list", "--json")
    assert left.json == [], "the address of a dead server is not asked"


async def test_told_to_stop_it_hands_back_and_a_restart_ends_the_job(quick: Fyke, web: Site) -> None:
    paths = web.products(PAGES)
    server, _ = await quick.serve(FYKE_GRACE_SECONDS=1)

    def stop() -> None:
        web.door.clear()  # what has been asked for by now is not answered while the server is there
        server.send(signal.SIGTERM)

    when_asked(web, paths[40], stop)
    job = await submitted(quick, web, paths)
    await server.says('"event": "stopping"', server.err)
    server.send(signal.SIGTERM)
    assert (await server.ended()).code == 0
    assert leased(quick.data / "fyke.db") == set()
    begun = {path for path in paths if web.hits[path]}
    assert len(begun) < PAGES, "it was in the middle"
    web.door.set()
    when_asked(web, paths[40], None)
    await quick.serve()
    watched = await quick.run("jobs", "watch", job, "--json")
    assert (watched.json["state"], watched.json["succeeded"]) == ("succeeded", PAGES)
    assert {path for path in paths if web.hits[path] > 1} <= begun
    assert all(1 <= web.hits[path] <= 2 for path in paths)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options", [(), ("--workers", "2")])
async def test_however_often_it_is_told_to_stop_it_ends_well(
    fyke: Fyke, number: signal.Signals, options: tuple[str, ...]
) -> None:
    """Also while the interpreter takes its last steps."""
    server, _ = await fyke.serve(*options)
    server.send(number)
    await server.says('"event": "stopping"', server.err)
    while server.process.returncode is None:
        server.send(number)
        await asyncio.sleep(0.001)
    assert (await server.ended()).code == 0


async def count_pages(fyke: Fyke, web: Site) -> None:
    """Crawl with two worker processes, and see that the server's metrics come to tell of every page."""
    paths = web.products(PAGES)
    server, address = await fyke.serve("--workers", "2")
    await ready(address)
    job = await submitted(fyke, web, paths)
    assert (await fyke.run("jobs", "watch", job, "--json")).json["succeeded"] == PAGES

    def read() -> dict[str, float]:
        with urlopen(f"{address}/metrics", timeout=20) as answer:
            lines = [line.rpartition(" ") for line in answer.read().decode().splitlines() if line[0] != "#"]
        return {name: float(value) for name, _, value in lines}

    name = 'fyke_tasks_total{error="",kind="page",verdict="succeeded"}'
    async with asyncio.timeout(LONGEST):
        while (found := await asyncio.to_thread(read)).get(name) != PAGES:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(LOOK)
    assert found['fyke_task_seconds_count{kind="page"}'] == PAGES
    assert found["fyke_bytes_total"] > 0
    server.send(signal.SIGTERM)
    assert (await server.ended()).code == 0


async def test_metrics_count_what_worker_processes_did(quick: Fyke, web: Site) -> None:
    await count_pages(quick, web)


async def test_two_worker_processes_and_one_is_killed(quick: Fyke, web: Site) -> None:
    paths = web.products(PAGES)
    server, address = await quick.serve("--workers", "2")
    await ready(address)
    workers = {pid for pid in family(server.pid)[1:] if alive(pid)}
    assert len(workers) == 2
    busy: set[object] = set()
    held: set[object] = set()
    victims: list[int] = []

    def look() -> None:
        busy.update(
            row[0]
            for row in ask(
                quick.data / "fyke.db", "SELECT DISTINCT l.pid FROM tasks t JOIN leases l ON t.lease = l.id"
            )
        )

    def kill() -> None:
        look()
        held.update(leased(quick.data / "fyke.db"))
        victims.append(max(int(str(pid)) for pid in busy & workers))
        send(victims, signal.SIGKILL)

    for path in paths[5:60:5]:
        when_asked(web, path, look)
    when_asked(web, paths[60], kill)
    job = await submitted(quick, web, paths)
    watched = await quick.run("jobs", "watch", job, "--json")
    assert busy >= workers, "both had some"
    assert (watched.json["state"], watched.json["succeeded"]) == ("succeeded", PAGES)
    assert not alive(victims[0])
    assert {web.url(path) for path in paths if web.hits[path] > 1} <= held
    assert '"event": "worker_died"' in "\n".join(server.err)
    server.send(signal.SIGTERM)
    assert (await server.ended()).code == 0
    assert not any(alive(pid) for pid in workers)


async def test_worker_processes_keep_a_budget_of_urls_and_a_resume_takes_the_rest(
    quick: Fyke, web: Site
) -> None:
    """The job's first sitemap has more than it may take: nobody asks for the others before it may."""
    paths = web.products(40)
    parts = [f"/{number}.xml" for number in range(4)]
    for number, part in enumerate(parts):
        web.pages[part] = sitemap_of(web.urls(paths[number * 10 : number * 10 + 10]))
    web.pages["/index.xml"] = index_of(web.urls(parts))
    server, address = await quick.serve("--workers", "2")
    await ready(address)
    create = ("jobs", "create", web.url("/index.xml"), "--as", "sitemap", "--json")
    job = (await quick.run(*create, "--max-urls", "6")).json["id"]
    watched = (await quick.run("jobs", "watch", job, "--json")).json
    assert (watched["state"], watched["close_reason"], watched["succeeded"]) == ("stopped", "max_urls", 6)
    assert [web.hits[part] for part in parts] == [1, 0, 0, 0]
    assert (await quick.run("jobs", "resume", job, "--max-urls", "100", "--json")).code == 0
    watched = (await quick.run("jobs", "watch", job, "--json")).json
    assert (watched["state"], watched["succeeded"]) == ("succeeded", 40)
    assert [web.hits[part] for part in parts] == [1, 1, 1, 1]
    whole = (await quick.run(*create)).json["id"]
    await quick.run("jobs", "watch", whole, "--json")
    resumed, undisturbed = [
        [page["url"] for page in (await quick.run("jobs", "pages", found, "--limit", "500", "--json")).json]
        for found in (job, whole)
    ]
    assert resumed == undisturbed == list(web.urls(paths))
    server.send(signal.SIGTERM)
    assert (await server.ended()).code == 0


async def ready(address: str) -> None:
    """Wait until the worker processes are there."""
    async with asyncio.timeout(LONGEST):
        while True:
            with await asyncio.to_thread(urlopen, f"{address}/health", timeout=20) as answer:
                if json.loads(answer.read()).get("status") == "ok":
                    return
            await asyncio.sleep(LOOK)


async def test_logs_are_json_where_nobody_looks(fyke: Fyke) -> None:
    server, address = await fyke.serve(FYKE_LOG_FORMAT="auto")
    server.send(signal.SIGTERM)
    done = await server.ended()
    events = [json.loads(line) for line in done.err.splitlines()]
    started = next(event for event in events if event["event"] == "started")
    assert (started["address"], started["level"]) == (address, "info")
    assert events[-1]["event"] == "stopped"
    assert os.fspath(fyke.data / "admin.key") in done.out
