"""Exports: made when a job ends and on demand, downloaded whole and in parts."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from fyke.core.ids import from_public
from fyke.core.outcome import SaveExport
from fyke.objects.local import LocalObjects
from fyke.objects.protocol import ObjectNotFound
from fyke.store.delete_job import delete_job
from fyke.store.exports import register_export
from fyke.store.purge import purge
from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.world import World, data_of

KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}


async def make(fyke: World, job: str, type: str, format: str) -> dict[str, Any]:
    return dict(data_of(await fyke.post(job, "exports", type=type, format=format), 201))


async def get(fyke: World, url: str, part: str | None = None) -> httpx.Response:
    return await fyke.client.get(url, headers={"Range": part} if part else {})


@pytest.mark.parametrize(("format", "kind"), KINDS.items())
async def test_made_on_demand(fyke: World, format: str, kind: str) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    job = (await fyke.crawl(fyke.shop.products(3)))["id"]
    assert await fyke.results(job, "exports") == []
    made = await make(fyke, job, "full", format)
    assert (made["job_id"], made["type"], made["format"], made["row_count"]) == (job, "full", format, 3)
    assert await fyke.results(job, "exports") == [made]
    assert data_of(await fyke.client.get(f"/api/v1/exports/{made['id']}")) == made
    answer = await get(fyke, made["url"])
    assert answer.status_code == 200
    assert len(answer.content) == made["size_bytes"] == int(answer.headers["content-length"])
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-disposition"] == f'attachment; filename="{job}-full.{format}"'
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_what_was_made_while_the_job_ran_is_made_anew_at_its_end(fyke: World) -> None:
    fyke.shop.door.clear()
    job = await fyke.submit(fyke.shop.products(3), options={"exports": ["csv"]})
    early = [await make(fyke, job, *kind) for kind in (("full", "jsonl"), ("full", "csv"))]
    assert [made["row_count"] for made in early] == [0, 0]
    fyke.shop.door.set()
    await fyke.ended(job)
    made = {(one["type"], one["format"]): one["row_count"] for one in await fyke.results(job, "exports")}
    assert made == {("full", "jsonl"): 3, ("full", "csv"): 3, ("seo", "csv"): 3, ("diff", "csv"): 3}


async def test_made_at_the_end(fyke: World) -> None:
    job = (await fyke.crawl(fyke.shop.products(2), options={"exports": ["csv", "json"]}))["id"]
    made = await fyke.results(job, "exports")
    assert {(export["type"], export["format"]) for export in made} == {
        (type, format) for type in ("full", "seo", "diff") for format in ("csv", "json")
    }
    full = next(export for export in made if (export["type"], export["format"]) == ("full", "csv"))
    rows = list(csv.DictReader(io.StringIO((await get(fyke, full["url"])).text)))
    assert [row["url"] for row in rows] == list(fyke.shop.urls(["/p/0", "/p/1"]))
    assert [row["price"] for row in rows] == ["10", "11"]


async def test_one_made_again_takes_the_place_of_the_one_before(fyke: World) -> None:
    paths = fyke.shop.products(2)
    job = (await fyke.crawl([*paths, "/late"]))["id"]
    before = await make(fyke, job, "full", "json")
    fyke.shop.products(3)
    fyke.shop.pages["/late"] = fyke.shop.pages["/p/2"]
    data_of(await fyke.post(job, "retry"), 202)
    await fyke.ended(job)
    after = await make(fyke, job, "full", "json")
    assert await fyke.results(job, "exports") == [after]
    problem_of(await get(fyke, before["url"]), 404)
    titles = [row["title"] for row in json.loads((await get(fyke, after["url"])).text)]
    assert titles == ["Thing 0", "Thing 1", "Thing 2"]


async def test_made_while_the_job_runs(fyke: World) -> None:
    job = await fyke.submit(fyke.shop.products(2))
    await fyke.ended(job)
    fyke.shop.door.clear()
    running = await fyke.submit(["/p/0", "/p/1"])
    assert (await make(fyke, running, "full", "csv"))["row_count"] == 0
    fyke.shop.door.set()
    await fyke.ended(running)
    assert (await make(fyke, running, "full", "csv"))["row_count"] == 2


async def test_one_whose_job_is_deleted_meanwhile_leaves_nothing(
    fyke: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the job has been removed before the file becomes an object."""
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    database, put_file = fyke.server.database, LocalObjects.put_file

    async def late(objects: LocalObjects, key: str, path: Path) -> None:
        await database.write(lambda conn: delete_job(conn, from_public(job)))
        while (await database.write(purge)).more:
            pass
        await put_file(objects, key, path)

    monkeypatch.setattr(LocalObjects, "put_file", late)
    problem_of(await fyke.post(job, "exports", type="full", format="csv"), 404)
    with pytest.raises(ObjectNotFound):
        await fyke.server.behind.objects.size(f"exports/{job}/full.csv")
    assert data_of(await fyke.client.get("/api/v1/exports")) == []


async def test_one_that_there_is_not(fyke: World) -> None:
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    said = fields_of(await fyke.post(job, "exports", type="ful", format="exel"))
    assert "did you mean 'full'?" in said["type"]
    assert "did you mean 'xlsx'?" in said["format"] or "did you mean" in said["format"]
    problem_of(await fyke.post(job, "exports", type="seo", format="warc"), 422)
    assert list(fields_of(await fyke.post(job, "exports", type="full"))) == ["format"]
    assert await fyke.results(job, "exports") == []


async def test_a_warc_of_bodies_that_were_not_kept(fyke: World) -> None:
    job = (await fyke.crawl(fyke.shop.products(1), options={"exports": ["csv"]}))["id"]
    problem = problem_of(await fyke.post(job, "exports", type="full", format="warc"), 409)
    assert "whose exports name warc" in problem["message"]
    problem_of(await fyke.post(job, "exports", type="diff", format="warc"), 422)
    assert {export["format"] for export in await fyke.results(job, "exports")} == {"csv"}
    kept = (await fyke.crawl(["/p/0"], options={"exports": ["warc"]}))["id"]
    assert (await make(fyke, kept, "full", "warc"))["row_count"] == 1


# --- in parts ---


@pytest.fixture
async def large(fyke: World) -> tuple[str, bytes]:
    """An export of some megabytes, and what is in it."""
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    made = await make(fyke, job, "full", "csv")
    body = b"".join(b"%07d\n" % number for number in range(500_000))
    key = f"exports/{job}/large.csv"
    await fyke.server.behind.objects.put(key, body)
    row = SaveExport(
        from_public(job), from_public(made["id"]), "full", "csv", key, len(body), 1, 1_700_000_000_000_000
    )
    await fyke.server.database.write(lambda conn: register_export(conn, row))
    return made["url"], body


async def test_a_large_one_whole(fyke: World, large: tuple[str, bytes]) -> None:
    url, body = large
    answer = await get(fyke, url)
    assert (answer.status_code, answer.headers["accept-ranges"]) == (200, "bytes")
    assert answer.content == body


@pytest.mark.parametrize(
    ("part", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=8-15", 8, 15),
        ("bytes=3999990-", 3_999_990, 3_999_999),
        ("bytes=3999990-99999999", 3_999_990, 3_999_999),
        ("bytes=-8", 3_999_992, 3_999_999),
        ("bytes=-99999999", 0, 3_999_999),
        ("bytes=1000000-2999999", 1_000_000, 2_999_999),
    ],
)
async def test_a_part(fyke: World, large: tuple[str, bytes], part: str, first: int, last: int) -> None:
    url, body = large
    answer = await get(fyke, url, part)
    assert answer.status_code == 206
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(body)}"
    assert answer.content == body[first : last + 1]


@pytest.mark.parametrize("part", ["bytes=4000000-", "bytes=99999999-999999999", "bytes=-0"])
async def test_a_part_that_there_is_not(fyke: World, large: tuple[str, bytes], part: str) -> None:
    answer = await get(fyke, large[0], part)
    assert problem_of(answer, 416)["details"] == {"size_bytes": 4_000_000}
    assert answer.headers["content-range"] == "bytes */4000000"


@pytest.mark.parametrize(
    "part", ["lines=0-1", "bytes=", "bytes=5-1", "bytes=0-1,4-5", "x", "bytes=a-b", "bytes=-"]
)
async def test_a_range_that_means_nothing_is_passed_over(
    fyke: World, large: tuple[str, bytes], part: str
) -> None:
    answer = await get(fyke, large[0], part)
    assert (answer.status_code, answer.headers["content-length"]) == (200, "4000000")


async def test_a_download_broken_off_is_taken_up_where_it_stopped(
    fyke: World, large: tuple[str, bytes]
) -> None:
    url, body = large
    got = b""
    async with fyke.client.stream("GET", url) as answer:
        async for piece in answer.aiter_bytes(65_536):
            got += piece
            if len(got) > 1_000_000:
                break
    rest = await get(fyke, url, f"bytes={len(got)}-")
    assert got + rest.content == body


async def test_an_object_that_is_gone(fyke: World) -> None:
    """Somebody has tidied up the directory: that is no stack trace, and nothing else is hurt."""
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    made = await make(fyke, job, "full", "csv")
    await fyke.server.behind.objects.delete(f"exports/{job}/full.csv")
    problem_of(await get(fyke, made["url"]), 404)
    again = await make(fyke, job, "full", "csv")
    assert (await get(fyke, again["url"])).status_code == 200
