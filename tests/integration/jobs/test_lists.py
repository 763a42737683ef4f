"""The object of a long list goes with the job that owns it, and at once when no job is made."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fyke.cli.crawl import Crawl, crawl_once, request_for
from fyke.core.errors import DiskFull, Invalid, StoreBusy
from fyke.jobs.submit import Prepared, making
from fyke.objects.local import LocalObjects
from fyke.settings import Settings
from fyke.store.conn import Conn
from fyke.store.jobs import create_job
from fyke.wiring import Engine, open_base
from tests.integration.jobs.driver import free
from tests.integration.jobs.site import Site, sitemap_of


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """One that works on nothing."""
    engine = Engine(await open_base(Settings.model_validate({"data_dir": tmp_path / "data"})), None)
    await engine.start()
    yield engine
    await engine.stop()


@pytest.fixture
def work(tmp_path: Path) -> Crawl:
    """A crawl of a list that is long enough to be an object."""
    file = tmp_path / "list.txt"
    file.write_text("".join(f"https://shop.test/{number}\n" for number in range(600)))
    return Crawl(request_for(str(file), "list", {}, skip_invalid=False), tmp_path / "out", show=False)


async def test_what_is_on_its_way_to_be_an_object_lies_where_it_is_swept(
    tmp_path: Path, shop: Site, work: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    put: dict[str, Path] = {}

    async def put_file(self: LocalObjects, key: str, path: Path) -> None:
        put[path.name] = path
        await real(self, key, path)

    real = LocalObjects.put_file
    monkeypatch.setattr(LocalObjects, "put_file", put_file)
    shop.pages["/s.xml"] = sitemap_of([shop.url("/a")])
    settings = Settings.model_validate({"data_dir": tmp_path / "data", "egress_allow": "127.0.0.0/8"})
    engine = Engine(await open_base(settings, free()))
    await engine.start()
    try:
        await engine.base.submit(work.request)
        request = request_for(shop.url("/s.xml"), "sitemap", {"exports": ["csv"]}, skip_invalid=False)
        never = asyncio.create_task(asyncio.Event().wait())
        await crawl_once(engine, Crawl(request, tmp_path / "out", show=False), never)  # type: ignore[arg-type]  # says nothing
        never.cancel()
    finally:
        await engine.stop()
    for name in ("list.gz", "sitemap", "full.csv"):
        assert put[name].parent.parent == tmp_path / "data" / "tmp"


def lists(engine: Engine) -> int:
    return len(list(engine.base.settings.objects_path.rglob("list.gz")))


async def interrupted(engine: Engine, work: Crawl) -> int:
    """Begin to crawl, or go on, with a signal there from the start; the job."""

    async def signal() -> str:
        return "SIGINT"

    done = await crawl_once(engine, work, asyncio.create_task(signal()))
    return done.job.id


async def test_going_on_with_a_crawl_leaves_one_list(engine: Engine, work: Crawl) -> None:
    first = await interrupted(engine, work)
    assert lists(engine) == 1
    assert await interrupted(engine, work) == first
    assert lists(engine) == 1


async def make(engine: Engine, prepared: Prepared, error: BaseException, *, makes: bool = False) -> None:
    """Make a job, or not, and fail."""
    async with making(prepared, engine.base.database, engine.base.objects):
        if makes:
            await engine.base.database.write(lambda conn: create_job(conn, prepared))
        raise error


@pytest.mark.parametrize(
    "error", [Invalid("no"), DiskFull(), StoreBusy(), RuntimeError(), asyncio.CancelledError()]
)
async def test_a_job_that_is_not_made_leaves_no_list(
    engine: Engine, work: Crawl, error: BaseException
) -> None:
    prepared = await engine.base.submit(work.request)
    assert lists(engine) == 1
    with pytest.raises(type(error)):
        await make(engine, prepared, error)
    assert lists(engine) == 0


async def test_a_job_that_was_made_after_all_keeps_its_list(engine: Engine, work: Crawl) -> None:
    """The answer to the commit did not arrive."""
    prepared = await engine.base.submit(work.request)
    with pytest.raises(StoreBusy):
        await make(engine, prepared, StoreBusy(), makes=True)
    assert lists(engine) == 1


@pytest.mark.parametrize("made", [True, False])
async def test_who_gives_up_waiting_for_a_transaction_leaves_what_that_leaves(
    engine: Engine, work: Crawl, made: bool
) -> None:
    """It is under way, and comes to its end all the same."""
    prepared = await engine.base.submit(work.request)
    begun, go_on = threading.Event(), threading.Event()

    async def create(conn: Conn) -> None:
        begun.set()
        go_on.wait()
        if not made:
            raise Invalid("no")
        await create_job(conn, prepared)

    async def make_it() -> None:
        async with making(prepared, engine.base.database, engine.base.objects):
            await engine.base.database.write(create)

    waiting = asyncio.create_task(make_it())
    await asyncio.to_thread(begun.wait)
    waiting.cancel()
    asyncio.get_running_loop().call_later(0.05, go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert lists(engine) == made


async def test_a_list_whose_database_says_nothing_stays(
    engine: Engine, work: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = await engine.base.submit(work.request)

    async def busy(_work: object) -> None:
        raise StoreBusy

    with monkeypatch.context() as patch:
        patch.setattr(engine.base.database, "write", busy)
        with pytest.raises(StoreBusy):
            await make(engine, prepared, StoreBusy())
    assert lists(engine) == 1
