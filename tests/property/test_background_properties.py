"""The numbered properties of the scraping service that this project grew from, in the words of Fyke.

`completed` is `succeeded` here and `partially_completed` is `partial`; a service key is an API key; what
stands for the pool of browsers, as long as nothing needs one, is the workers that hold a lease.
"""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fyke.core.ids import from_public, public
from fyke.core.outcome import Verdict
from fyke.core.task import Kind
from fyke.store.health import read_load
from tests.contract.rig import outcome, page, pages, site
from tests.property.background import Fyke, few, running

VERDICTS = (Verdict.SUCCEEDED, Verdict.FAILED, Verdict.SKIPPED)

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
JOB = f"/jobs/{public(1)}"
paths = st.sampled_from(
    [
        *("/jobs", "/jobs/x", JOB, f"{JOB}/pages", f"{JOB}/cancel"),
        *("/exports", f"/exports/{public(1)}/download", "/keys", "/nothing", ""),
    ]
)
urls = st.lists(st.integers(0, 10_000), min_size=1, max_size=60, unique=True).map(
    lambda numbers: [f"http://h{number % 5}.test/{number}" for number in numbers]
)


@pytest.fixture(scope="module")
def fyke(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fyke]:
    with running(tmp_path_factory.mktemp("properties")) as made:
        yield made


@few
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    path=paths,
    scope=st.sampled_from([None, "read", "submit", "admin"]),
    body=json,
)
def test_property_01_json_envelope_consistency(
    fyke: Fyke, method: str, path: str, scope: str | None, body: Any
) -> None:
    """Whatever is asked, the answer is one envelope, and it agrees with the status."""

    async def example() -> None:
        answer = await fyke.call(method, path, scope=scope, json=body)
        envelope = answer.json()
        assert set(envelope) == {"success", "data", "error", "meta"}
        assert envelope["success"] is (answer.status_code < 400)
        if envelope["success"]:
            assert envelope["error"] is None
            assert envelope["data"] is not None
        else:
            assert envelope["data"] is None
            assert set(envelope["error"]) == {"code", "message", "details"}
        assert envelope["meta"]["request_id"] == answer.headers["x-request-id"]

    fyke.run(example())


@few
@given(leases=st.lists(st.sampled_from(["held", "run out", "closed"]), max_size=4), database=st.booleans())
def test_property_02_readiness_reflects_the_workers(fyke: Fyke, leases: list[str], database: bool) -> None:
    """200 if and only if work can be taken, by the database, and done, by a worker."""

    async def example() -> None:
        await fyke.rig.queue.close_lease(fyke.rig.lease)
        for state in leases:
            lease = await fyke.rig.open_lease()
            if state == "run out":
                await fyke.rig.expire(lease)
            elif state == "closed":
                await fyke.rig.queue.close_lease(lease)
        if not database:
            await fyke.parts.database.close()
        try:
            async with fyke.parts.client(None) as client:
                answer = await client.get("/readiness")
        finally:
            if not database:
                await fyke.parts.database.open()
        ready = database and "held" in leases
        assert answer.status_code == (200 if ready else 503)
        assert answer.json()["ready"] is ready
        assert bool(answer.json()["reasons"]) is not ready

    fyke.run(example())


@few
@given(
    asked=st.lists(st.tuples(paths, st.none() | words.filter(str.isascii) | st.uuids().map(str)), min_size=2)
)
def test_property_03_request_id_uniqueness(fyke: Fyke, asked: list[tuple[str, str | None]]) -> None:
    """Every answer has an id that is a UUID: the caller's own, or one that nothing else has."""

    async def example() -> None:
        made = []
        for path, given_id in asked:
            headers = {"X-Request-ID": given_id.strip()} if given_id else {}
            found = (await fyke.call("GET", path, headers=headers)).headers["x-request-id"]
            assert str(UUID(found)) == found.lower()
            if given_id and len(given_id) == 36 and "-" in given_id:
                assert found == given_id
            else:
                made.append(found)
        assert len(set(made)) == len(made)

    fyke.run(example())


@few
@given(
    header=st.sampled_from(["Authorization", "X-Api-Key", "X-Service-Key"]),
    scope=st.sampled_from(["admin", "submit", "read", "worker"]),
    cut=st.integers(0, 48),
    put=st.text("abcXYZ059_-é ", max_size=3),
)
def test_property_04_service_key_authentication(
    fyke: Fyke, header: str, scope: str, cut: int, put: str
) -> None:
    """A key is accepted if and only if it is, to the letter, one that was given out."""
    token = fyke.parts.tokens[scope]
    changed = token[:cut] + put + token[cut + len(put) :]

    async def status(sent: str) -> int:
        value = f"Bearer {sent}" if header == "Authorization" else sent
        headers = {header.encode(): value.encode()}
        return (await fyke.call("GET", "/jobs", scope=None, headers=headers)).status_code

    async def example() -> None:
        assert await status(token) == (200 if scope in ("admin", "read") else 403)
        if changed.strip() != token:
            assert await status(changed) == 401

    fyke.run(example())


wrong = st.one_of(
    st.tuples(st.just("max_urls"), st.integers(max_value=-1) | words | st.floats(0.1, 0.9)),
    st.tuples(st.just("priority"), st.integers(max_value=-11) | st.integers(min_value=11)),
    st.tuples(st.just("traffic_budget_mb"), st.floats(max_value=-0.1, allow_infinity=False) | words),
    st.tuples(st.just("target"), words),
    st.tuples(st.just("exports"), st.lists(words, min_size=1, max_size=3) | words),
    st.tuples(st.just("allow_residential"), st.integers() | words),
)


@few
@given(fault=wrong, unknown=st.none() | words.filter(bool))
def test_property_05_validation_gives_422_with_field_errors(
    fyke: Fyke, fault: tuple[str, Any], unknown: str | None
) -> None:
    """Each wrong field is named with what was expected, and nothing is written."""
    name, value = fault
    assume(value != "product")
    options: dict[str, Any] = {name: value}
    body: dict[str, Any] = {"urls": ["http://a.test/"], "options": options}
    if unknown is not None:
        assume(
            unknown not in ("urls", "options", "name", "domain", "site_url", "sitemap_url", "skip_invalid")
        )
        body[unknown] = 1

    async def example() -> None:
        answer = await fyke.call("POST", "/jobs", json=body)
        assert answer.status_code == 422
        error = answer.json()["error"]
        assert error["code"] == "validation_error"
        fields = {field["field"]: field["message"] for field in error["details"]["fields"]}
        assert any(field.startswith(f"options.{name}") for field in fields)
        assert unknown is None or "did you mean" in fields[unknown]
        assert all(fields.values())
        assert await fyke.read("/jobs") == []

    fyke.run(example())


@few
@given(listed=urls, twice=st.integers(0, 5))
def test_property_08_a_batch_job_has_as_many_tasks_as_it_has_targets(
    fyke: Fyke, listed: list[str], twice: int
) -> None:
    """N different URLs are N tasks of the one job, each of its own; a URL given twice is one."""

    async def example() -> None:
        answer = await fyke.call("POST", "/jobs", json={"urls": listed + listed[:twice]})
        assert answer.status_code == 201
        job = answer.json()["data"]
        assert job["total"] == len(listed)
        rows = await fyke.rig.rows("SELECT id, job, url FROM tasks")
        assert {row[1] for row in rows} == {from_public(job["id"])}
        assert len({row[0] for row in rows}) == len(rows)
        assert sorted(row[2] for row in rows) == sorted(listed)

    fyke.run(example())


@few
@given(verdicts=st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=20))
def test_property_09_the_state_of_a_job_comes_from_its_tasks(fyke: Fyke, verdicts: list[str]) -> None:
    """No failure is `succeeded`, nothing but failures is `failed`, both is `partial`."""

    async def example() -> None:
        rig = fyke.rig
        job = await rig.job(pages(len(verdicts)))
        await rig.settle(*(rig.done(task, verdicts[task.seq]) for task in await rig.claim_all()))
        assert (await fyke.read(f"/jobs/{public(job)}"))["state"] == "running"
        await rig.drain()
        found = await fyke.read(f"/jobs/{public(job)}")
        failed, succeeded = verdicts.count("failed"), verdicts.count("succeeded")
        assert found["state"] == ("partial" if failed and succeeded else "failed" if failed else "succeeded")
        counted = {verdict: found[verdict] for verdict in VERDICTS}
        assert counted == {verdict: verdicts.count(verdict) for verdict in VERDICTS}
        assert found["total"] == len(verdicts)

    fyke.run(example())


@few
@given(count=st.integers(1, 20), data=st.data())
def test_property_10_results_are_those_of_completed_tasks(
    fyke: Fyke, count: int, data: st.DataObject
) -> None:
    """While a job runs: as many results as its counters say, and none of a task that is not done."""
    verdicts = data.draw(st.lists(st.sampled_from((*VERDICTS, None)), min_size=count, max_size=count))

    async def example() -> None:
        rig = fyke.rig
        job = await rig.job(pages(count))
        done = [(task, verdicts[task.seq]) for task in await rig.claim_all() if verdicts[task.seq]]
        await rig.settle(*(rig.done(task, str(verdict)) for task, verdict in done))
        found = await fyke.read(f"/jobs/{public(job)}")
        results = await fyke.read(f"/jobs/{public(job)}/pages", limit=500)
        assert {page["url"]: page["state"] for page in results} == {
            task.url: verdict for task, verdict in done
        }
        good = await fyke.read(f"/jobs/{public(job)}/pages", state="succeeded", limit=500)
        assert len(good) == found["succeeded"]
        assert len(results) == found["succeeded"] + found["failed"] + found["skipped"]

    fyke.run(example())


@few
@given(count=st.integers(1, 20), data=st.data())
def test_property_11_cancelling_lets_what_runs_finish(fyke: Fyke, count: int, data: st.DataObject) -> None:
    """Tasks that wait are handed out no more; those that run are settled as if nothing had been."""
    begun = data.draw(st.integers(0, count))

    async def example() -> None:
        rig = fyke.rig
        job = await rig.job(pages(count))
        held = await rig.claim(begun) if begun else []
        assert len(held) == begun
        assert (await fyke.call("POST", f"/jobs/{public(job)}/cancel")).status_code == 202
        while await rig.activity():
            pass
        others = await rig.claim_all()
        assert Kind.PAGE not in {task.kind for task in others}
        assert len((await rig.finish([*held, *others])).accepted) == begun + len(others)
        await rig.drain()
        found = await fyke.read(f"/jobs/{public(job)}")
        assert (found["state"], found["succeeded"]) == ("cancelled", begun)
        results = await fyke.read(f"/jobs/{public(job)}/pages", limit=500)
        assert [page["url"] for page in results] == [task.url for task in sorted(held, key=lambda t: t.seq)]
        await rig.check()

    fyke.run(example())


@few
@given(
    sizes=st.lists(st.integers(1, 10) | st.integers(11, 30), min_size=2, max_size=6),
    one_host=st.booleans(),
    want=st.integers(1, 40),
)
def test_property_36_small_jobs_go_before_large_ones(
    fyke: Fyke, sizes: list[int], one_host: bool, want: int
) -> None:
    """Whichever came first, at one host or several: all of those up to 10 pages, then the others."""

    async def example() -> None:
        rig = fyke.rig
        size_of = {}
        for number, size in enumerate(sizes):
            lane = site("all" if one_host else f"h{number}")
            size_of[await rig.job(pages(size, lane, first=1000 * number))] = size
        order = [size_of[task.job] <= 10 for task in await rig.claim_all(want)]
        assert len(order) == sum(sizes)
        assert order == sorted(order, reverse=True)

    fyke.run(example())


@few
@given(steps=st.lists(st.tuples(st.sampled_from(["add", "claim", "settle", "return"]), st.integers(1, 8))))
def test_property_37_the_figures_of_the_queue_are_those_of_its_rows(
    fyke: Fyke, steps: list[tuple[str, int]]
) -> None:
    """After any steps, what /health says waits and runs is what waits and runs."""

    async def example() -> None:
        rig, held, waiting, more = fyke.rig, [], 0, False  # `more`: holds what is no page
        for number, (step, amount) in enumerate(steps):
            if step == "add":
                await rig.job([page(1000 * number + seq, site(f"h{seq % 2}")) for seq in range(amount)])
                waiting += amount
            elif step == "claim":
                claimed = await rig.claim(amount)
                tasks = [task for task in claimed if task.kind == Kind.PAGE]
                more |= len(claimed) > len(tasks)
                held += tasks
                waiting -= len(tasks)
            elif step == "settle":
                await rig.settle(*(outcome(task) for task in held[:amount]))
                del held[:amount]
            else:
                await rig.queue.hand_back(rig.lease, [task.id for task in held[:amount]])
                waiting += len(held[:amount])
                del held[:amount]
        load = await rig.database.read(read_load)
        depth = {queue.kind: queue.depth for queue in load.queues}
        assert depth["page"] == waiting + len(held)
        assert load.running == len(held)
        async with fyke.parts.client(None) as client:
            health = (await client.get("/health")).json()
        assert {queue["kind"]: queue["depth"] for queue in health["queues"]} == depth
        assert health["running"] == len(held)
        assert [worker["state"] for worker in health["workers"]] == ["busy" if held or more else "idle"]
        await rig.check()

    fyke.run(example())
