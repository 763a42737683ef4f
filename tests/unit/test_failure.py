"""What becomes of a task whose handler raises."""

from itertools import pairwise

from msgspec import json

from fyke.core.outcome import SourceRead, Verdict
from fyke.core.retry import RetryPolicy
from fyke.core.task import Kind, Task
from fyke.engine.failure import outcome_of
from fyke.jobs.finish import REMOVED_FROM

ONCE = RetryPolicy(attempts=1)


def plan(number: int, first: int) -> Task:
    payload = json.encode({"number": number, "kind": "sitemap", "location": "", "first_seq": first})
    return Task(1, 1, 1, Kind.PLAN, number, "", payload, 1, 1)


def next_after(number: int, first: int) -> int:
    outcome = outcome_of(ValueError(), plan(number, first), ONCE, 0.5)
    (read,) = outcome.effects
    assert isinstance(read, SourceRead)
    assert (outcome.verdict, read.number, read.complete) == (Verdict.FAILED, number, False)
    return read.next_seq


def test_sources_that_fail_one_after_another_never_share_places() -> None:
    firsts = [0]
    for number in range(1000):
        firsts.append(next_after(number, firsts[-1]))
    assert all(after - before >= 1 << 40 for before, after in pairwise(firsts))


def test_a_place_stays_below_what_a_database_can_count() -> None:
    first = 0
    for number in range(100):
        first = next_after(number, max(first, (1 << 61) - (1 << 44)))
    assert first + (1 << 40) < REMOVED_FROM < 1 << 63
