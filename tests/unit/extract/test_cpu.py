"""Large pages leave the event loop free."""

import asyncio
import threading

import pytest

from fyke.extract import cpu, extract
from tests.unit.extract.generator import page

URL = "https://shop.example/p/1"


async def test_small_pages_are_read_at_once() -> None:
    work = cpu.extract_off_loop(page(1), URL, "product", links=True)
    with pytest.raises(StopIteration) as stopped:  # done without a single pause
        work.send(None)
    assert stopped.value.value == extract(page(1), URL, "product", links=True)


async def test_large_pages_leave_the_loop_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    loop_had_its_turn = threading.Event()

    def patient(html: str, url: str, target: str, *, links: bool = False) -> object:
        assert loop_had_its_turn.wait(10)
        return extract("<title>waited</title>", url, target, links=links)

    monkeypatch.setattr(cpu, "extract", patient)
    work = asyncio.create_task(cpu.extract_off_loop("x" * cpu.INLINE, URL, "page"))
    await asyncio.sleep(0)
    loop_had_its_turn.set()
    assert (await work).title == "waited"


async def test_a_large_page_gives_the_same_record() -> None:
    html = page(3, 600_000)
    assert len(html) > cpu.INLINE
    assert await cpu.extract_off_loop(html, URL, "product") == extract(html, URL, "product")
