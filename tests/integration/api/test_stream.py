"""Live events: everything a job did, in order, and on from where the reader stopped."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import Struct

from tests.integration.api.test_envelope import fields_of, problem_of
from tests.integration.api.world import World, data_of
from tests.integration.jobs.site import Reply


class Event(Struct, frozen=True):
    kind: str
    id: str | None
    data: dict[str, Any]


async def follow(
    client: httpx.AsyncClient, job: str, after: str | None = None
) -> AsyncGenerator[Event, None]:
    """A job's events, read as a browser reads them."""
    headers = {"Last-Event-ID": after} if after else {}
    async with client.stream("GET", f"/api/v1/jobs/{job}/stream", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        fields: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                yield Event(fields["event"], fields.get("id"), msgspec.json.decode(fields["data"]))
                fields = {}


async def all_of(fyke: World, job: str, after: str | None = None) -> list[Event]:
    async with asyncio.timeout(60):
        return [event async for event in follow(fyke.client, job, after)]


def said(events: list[Event]) -> list[Event]:
    """What is kept: events with a place. A state that no row tells of is said besides."""
    return [event for event in events if event.id is not None]


async def test_a_job_that_has_ended_tells_all_of_it(fyke: World) -> None:
    paths = fyke.shop.products(5)
    job = await fyke.crawl([*paths, "/gone"])
    events = await all_of(fyke, job["id"])
    pages = {event.data["url"]: event.data for event in events if event.kind == "page"}
    assert sorted(pages) == sorted(fyke.shop.urls([*paths, "/gone"]))
    gone = pages[fyke.shop.url("/gone")]
    assert (gone["state"], gone["http_status"], gone["error_class"]) == ("failed", 404, "not_found")
    assert pages[fyke.shop.url("/p/0")]["change_type"] == "ADDED"
    progress = [event.data for event in events if event.kind == "progress"]
    done = [row["succeeded"] + row["failed"] for row in progress]
    assert done == sorted(done)
    assert {name: progress[-1][name] for name in ("total", "succeeded", "failed", "skipped", "planned")} == {
        "total": 6,
        "succeeded": 5,
        "failed": 1,
        "skipped": 0,
        "planned": True,
    }
    assert events[-1].kind == "complete"
    assert events[-1].data == {"id": job["id"], "state": "partial", "close_reason": "partial"}
    assert [event.data["state"] for event in events if event.kind == "state"][-1] == "partial"
    assert [event.kind for event in events].count("complete") == 1
    places = [event.id for event in said(events)]
    assert len(set(places)) == len(places)


async def test_a_job_is_followed_live(fyke: World) -> None:
    """What happens is told while it happens: the page before the last is seen while the last is held."""
    paths = fyke.shop.products(2)
    begun = asyncio.Event()

    def hold() -> None:
        fyke.shop.door.clear()
        begun.set()

    fyke.shop.pages["/held"] = Reply(b"<title>held</title>", after=hold)
    job = await fyke.submit([*paths, "/held"], options={"max_concurrency": 1})
    seen: list[str] = []
    async with asyncio.timeout(60), aclosing(follow(fyke.client, job)) as events:
        async for event in events:
            if event.kind == "page":
                seen.append(event.data["url"])
            if len(seen) == 2:
                await begun.wait()
                assert (await fyke.job(job))["state"] == "running"
                fyke.shop.door.set()
    assert seen == list(fyke.shop.urls([*paths, "/held"]))


async def test_whoever_comes_back_misses_and_repeats_nothing(fyke: World) -> None:
    job = (await fyke.crawl(fyke.shop.products(6)))["id"]
    whole = said(await all_of(fyke, job))
    for place, event in enumerate(whole[:-1]):
        assert said(await all_of(fyke, job, event.id)) == whole[place + 1 :]


async def test_after_the_end_there_is_only_the_end(fyke: World) -> None:
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    end = (await all_of(fyke, job))[-1]
    assert said(await all_of(fyke, job, end.id)) == [end]


async def test_a_reader_that_is_cut_off_again_and_again_sees_everything_once(fyke: World) -> None:
    paths = fyke.shop.products(30)
    job = await fyke.submit(paths, options={"max_concurrency": 3})
    seen: list[Event] = []
    last: str | None = None
    async with asyncio.timeout(60):
        while not seen or seen[-1].kind != "complete":
            async with aclosing(follow(fyke.client, job, last)) as events:
                async for event in events:
                    if event.id is not None:
                        seen.append(event)
                        last = event.id
                        if len(seen) % 7 == 0:
                            break
    assert Counter(event.data["url"] for event in seen if event.kind == "page") == Counter(
        fyke.shop.urls(paths)
    )
    assert seen == said(await all_of(fyke, job))


@pytest.mark.parametrize("last", ["x", "zzz", "5", "-", "1-1-1", "9" * 30 + "-1"])
async def test_a_place_that_is_none_of_ours_is_refused(fyke: World, last: str) -> None:
    job = (await fyke.crawl(fyke.shop.products(1)))["id"]
    answer = await fyke.client.get(f"/api/v1/jobs/{job}/stream", headers={"Last-Event-ID": last})
    said_of = fields_of(answer)
    assert last[:40] in said_of["Last-Event-ID"]


@pytest.mark.parametrize("last", ["", "999999999-1"])
async def test_a_place_beyond_the_end_starts_at_the_beginning(fyke: World, last: str) -> None:
    """A database restored from a backup may know less than its readers."""
    job = (await fyke.crawl(fyke.shop.products(2)))["id"]
    assert said(await all_of(fyke, job, last)) == said(await all_of(fyke, job))


async def test_what_is_kept_is_told_in_the_order_in_which_it_happened(fyke: World) -> None:
    job = (await fyke.crawl([*fyke.shop.products(3), "/gone"]))["id"]
    kinds = [
        event.data["state"] if event.kind == "state" else event.kind
        for event in said(await all_of(fyke, job))
        if event.kind in ("state", "page", "complete")
    ]
    assert kinds == ["running", *["page"] * 4, "partial", "complete"]
    data_of(await fyke.post(job, "retry"), 202)
    await fyke.ended(job)
    again = [event for event in said(await all_of(fyke, job)) if event.kind in ("state", "page")]
    states = [event.data["state"] for event in again if event.kind == "state"]
    assert states == ["running", "partial", "running", "partial"]
    assert [event.kind for event in again[-3:]] == ["state", "page", "state"]


async def test_a_robots_txt_that_cannot_be_had_is_told_of(fyke: World) -> None:
    fyke.shop.pages["/robots.txt"] = Reply(status=500)
    job = await fyke.submit(["/p/0", "/p/1"])
    async with asyncio.timeout(30), aclosing(follow(fyke.client, job)) as events:
        line = await anext(event.data["message"] async for event in events if event.kind == "log")
    assert line.startswith("127.0.0.1: robots.txt: status 500; asked again at 20")


async def test_a_cancel_is_followed_to_its_end(fyke: World) -> None:
    begun = asyncio.Event()
    fyke.shop.pages["/p"] = Reply(b"<title>p</title>", after=begun.set)
    fyke.shop.door.clear()
    job = await fyke.submit(["/p", "/q"], options={"max_concurrency": 1})
    async with asyncio.timeout(60):
        await begun.wait()
        states: list[str] = []
        async with aclosing(follow(fyke.client, job)) as events:
            async for event in events:
                if event.kind == "state":
                    states.append(event.data["state"])
                    if states[-1] == "running":
                        data_of(await fyke.post(job, "cancel"), 202)
                    if states[-1] == "cancelling":
                        fyke.shop.door.set()
    assert states[0] == "running"
    assert states[-2:] == ["cancelling", "cancelled"]


async def test_a_job_that_is_deleted_while_it_is_followed(fyke: World) -> None:
    fyke.shop.door.clear()
    job = await fyke.submit(["/p"])
    async with asyncio.timeout(60):
        async with aclosing(follow(fyke.client, job)) as events:
            first = await anext(events)
            data_of(await fyke.client.delete(f"/api/v1/jobs/{job}"))
            rest = [event async for event in events]
    assert first.kind == "progress"
    assert rest[-1].kind == "complete"
    assert rest[-1].data == {"id": job, "state": "deleted", "close_reason": None}


async def test_many_follow_one_job(fyke: World) -> None:
    fyke.shop.door.clear()
    job = await fyke.submit(fyke.shop.products(5))
    limits = httpx.Limits(max_connections=30)
    async with httpx.AsyncClient(
        base_url=fyke.server.address, headers=fyke.client.headers, limits=limits, timeout=30
    ) as client:

        async def read() -> list[Event]:
            return said([event async for event in follow(client, job)])

        following = [asyncio.create_task(read()) for _ in range(20)]
        fyke.shop.door.set()
        async with asyncio.timeout(60):
            found = await asyncio.gather(*following)
    assert all(events == found[0] for events in found)
    assert found[0][-1].kind == "complete"


async def test_nothing_that_was_read_from_a_page_is_in_an_event(fyke: World) -> None:
    fyke.shop.products(1)
    job = (await fyke.crawl(["/p/0"]))["id"]
    text = (await fyke.client.get(f"/api/v1/jobs/{job}/stream")).text
    assert fyke.shop.url("/p/0") in text
    assert "Thing" not in text


async def test_a_server_that_stops_lets_those_go_who_follow(fyke: World) -> None:
    """A stop does not wait its whole grace for a reader of a job that goes on."""
    fyke.server.http.server.config.timeout_graceful_shutdown = 60
    fyke.shop.door.clear()
    job = await fyke.submit(["/p"])
    heard = asyncio.Event()

    async def read() -> None:
        try:
            async for _ in follow(fyke.client, job):
                heard.set()
        except httpx.HTTPError:
            pass

    reading = asyncio.create_task(read())
    async with asyncio.timeout(30):
        await heard.wait()
        await fyke.server.http.stop()
        await reading


async def test_no_job_no_stream(fyke: World) -> None:
    answer = await fyke.client.get("/api/v1/jobs/5f0c6f6e-2d34-4c1b-9a55-0b6f6a1d7e9c/stream")
    problem_of(answer, 404)
