"""What a page task comes to, on a client that answers from a table."""

from collections.abc import Sequence

import msgspec
import pytest
import structlog

from fyke.core import clock
from fyke.core.clock import SECOND
from fyke.core.job import JobOptions
from fyke.core.outcome import Effect, JobLog, Outcome, Verdict
from fyke.core.page import ErrorClass, Failed, Page, Request
from fyke.core.retry import RetryPolicy
from fyke.core.task import JobInfo, Kind, Task
from fyke.fetch.options import PAGES, FetchOptions
from fyke.jobs.page import PageHandler, PageParts
from fyke.politeness.policies import Policies
from fyke.politeness.robots import Robots

PAGE = "https://shop.test/p/1"
JOB = JobInfo(1, msgspec.json.encode(JobOptions()))


class Nothing:
    async def emit(self, effects: Sequence[Effect]) -> str | None:
        raise AssertionError("pages write nothing on their way")


class Web:
    """Answers with the status, or the class of failure, that a URL has now; others are 404."""

    def __init__(self) -> None:
        self.answers: dict[str, int | str] = {}
        self.asked: list[str] = []

    async def fetch(self, request: Request, options: FetchOptions = PAGES) -> Page | Failed:
        self.asked.append(request.url)
        answer = self.answers.get(request.url, 404)
        if isinstance(answer, str):
            return Failed(request.url, answer, "it broke", clock.now())
        headers = (("content-type", "text/html"),)
        return Page(request.url, request.url, answer, headers, b"<h1>A</h1>", 10, clock.now(), 0.1)


def handler(web: Web, retry: RetryPolicy) -> PageHandler:
    return PageHandler(PageParts(web, Robots(web.fetch, "Fyke"), Policies.with_file(), retry))


def task(attempt: int, interval: int = 0) -> Task:
    return Task(1, 1, 1, Kind.PAGE, 0, PAGE, b"", attempt, attempt, interval=interval)


@pytest.mark.parametrize("cap", [600.0, 10.0])
@pytest.mark.parametrize("trouble", [503, 429, ErrorClass.TIMEOUT, ErrorClass.CONNECT])
async def test_a_page_outlives_a_failure_of_robots_txt_that_passes(
    trouble: int | str, cap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt asks for robots.txt anew: none is made against what is remembered of the failure."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    web = Web()
    web.answers = {f"{PAGE[:17]}/robots.txt": trouble, PAGE: 200}
    handle = handler(web, RetryPolicy(attempts=3, cap=cap))
    for attempt in (1, 2):
        outcome = await handle(task(attempt), JOB, Nothing())
        assert outcome.verdict == Verdict.RETRY
        now += outcome.delay
    assert PAGE not in web.asked
    web.answers[f"{PAGE[:17]}/robots.txt"] = 200
    assert (await handle(task(3), JOB, Nothing())).verdict == Verdict.SUCCEEDED


async def test_a_server_in_trouble_is_left_alone_a_host_that_is_not_there_is_not_waited_for() -> None:
    waits = {}
    for trouble in (503, ErrorClass.DNS):
        web = Web()
        web.answers = {f"{PAGE[:17]}/robots.txt": trouble}
        waits[trouble] = (await handler(web, RetryPolicy())(task(1), JOB, Nothing())).delay
    assert 299 * SECOND < waits[503] <= 300 * SECOND
    assert waits[ErrorClass.DNS] <= 2 * SECOND


def lines(outcome: Outcome) -> list[str]:
    return [effect.message for effect in outcome.effects if isinstance(effect, JobLog)]


async def test_a_job_is_told_once_for_each_robots_txt_that_was_asked_for_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    web = Web()
    web.answers = {f"{PAGE[:17]}/robots.txt": 503}
    handle = handler(web, RetryPolicy())
    with structlog.testing.capture_logs() as logged:
        (line,) = lines(await handle(task(1), JOB, Nothing()))
        assert line == f"shop.test: robots.txt: status 503; asked again at {clock.iso(now + 300 * SECOND)}"
        assert lines(await handle(task(1), JOB, Nothing())) == []
        other = msgspec.structs.replace(task(1), job=2)
        assert lines(await handle(other, JOB, Nothing())) == [line]
        now += 300 * SECOND
        assert len(lines(await handle(task(2), JOB, Nothing()))) == 1
    assert [(one["event"], one["log_level"], one["host"], one["reason"]) for one in logged] == [
        ("robots_missing", "warning", "shop.test", "status 503")
    ] * 2
    assert logged[0]["asked_again_at"] in line
    assert len([url for url in web.asked if url.endswith("/robots.txt")]) == 2


async def test_a_slow_lane_does_not_ask_a_host_that_is_not_there_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its turns are further apart than such a failure is remembered."""
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    web = Web()
    web.answers = {f"{PAGE[:17]}/robots.txt": ErrorClass.CONNECT}
    handle = handler(web, RetryPolicy(attempts=3))
    verdicts = []
    for attempt in (1, 2, 3):
        slow = msgspec.structs.replace(task(attempt), interval=5 * SECOND)
        verdicts.append((await handle(slow, JOB, Nothing())).verdict)
        now += 5 * SECOND
    assert verdicts == [Verdict.RETRY, Verdict.RETRY, Verdict.FAILED]


async def test_a_page_whose_robots_txt_never_comes_fails_with_the_reason() -> None:
    web = Web()
    web.answers = {f"{PAGE[:17]}/robots.txt": 503}
    outcome = await handler(web, RetryPolicy(attempts=1))(task(1), JOB, Nothing())
    assert (outcome.verdict, outcome.error_class) == (Verdict.FAILED, ErrorClass.HTTP_5XX)


async def test_a_turn_that_finds_no_host_is_an_attempt() -> None:
    """However slow the lane: by its next turn nothing may be known any more, and it would go on for ever."""
    web = Web()
    web.answers = {f"{PAGE[:17]}/robots.txt": ErrorClass.DNS}
    handle = handler(web, RetryPolicy(attempts=2))
    verdicts = [(await handle(task(attempt, 3 * SECOND), JOB, Nothing())).verdict for attempt in (1, 2)]
    assert verdicts == [Verdict.RETRY, Verdict.FAILED]
