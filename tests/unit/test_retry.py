"""How long to wait before a task is tried again: growing, spread out, within bounds, never for nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fyke.core.clock import SECOND
from fyke.core.page import ErrorClass
from fyke.core.retry import MAY_PASS, RetryPolicy, retry_delay

POLICY = RetryPolicy()
ALL = [value for name, value in vars(ErrorClass).items() if name.isupper()]
passing = st.sampled_from(sorted(MAY_PASS))
chances = st.floats(0, 1, exclude_max=True)


def test_three_attempts_two_seconds_apart_then_four() -> None:
    assert [retry_delay(ErrorClass.TIMEOUT, attempt, POLICY, 0.999999) for attempt in (1, 2, 3)] == [
        pytest.approx(2 * SECOND, rel=1e-3),
        pytest.approx(4 * SECOND, rel=1e-3),
        None,
    ]


@pytest.mark.parametrize("error_class", sorted(set(ALL) - MAY_PASS))
def test_what_will_not_pass_is_not_tried_again(error_class: str) -> None:
    assert retry_delay(error_class, 1, POLICY, 0.5) is None
    assert retry_delay(error_class, 1, POLICY, 0.5, asked=5.0) is None


@pytest.mark.parametrize("error_class", [ErrorClass.TIMEOUT, ErrorClass.HTTP_5XX, ErrorClass.RATE_LIMITED])
def test_what_may_pass_is(error_class: str) -> None:
    assert retry_delay(error_class, 1, POLICY, 0.5) is not None


@given(error_class=passing, attempt=st.integers(1, 40), chance=chances)
def test_a_wait_lies_in_the_upper_half_of_its_range_and_below_the_cap(
    error_class: str, attempt: int, chance: float
) -> None:
    policy = RetryPolicy(attempts=50)
    wait = retry_delay(error_class, attempt, policy, chance)
    most = min(policy.cap, policy.base * policy.factor ** (attempt - 1))
    assert wait is not None
    assert most / 2 * SECOND - 1 <= wait <= most * SECOND


@given(attempt=st.integers(1, 40), low=chances, high=chances)
def test_jitter_moves_the_wait(attempt: int, low: float, high: float) -> None:
    policy = RetryPolicy(attempts=50)
    waits = [retry_delay(ErrorClass.TIMEOUT, attempt, policy, chance) for chance in sorted((low, high))]
    assert waits[0] is not None
    assert waits[1] is not None
    assert waits[0] <= waits[1]
    spread = min(policy.cap, policy.base * policy.factor ** (attempt - 1)) / 2 * abs(high - low) * SECOND
    assert waits[1] - waits[0] == pytest.approx(spread, abs=2)


@given(chance=chances, least=st.integers(-SECOND, 3600 * SECOND))
def test_no_attempt_is_made_that_is_certain_to_fail(chance: float, least: int) -> None:
    wait = retry_delay(ErrorClass.HTTP_5XX, 1, POLICY, chance, least=least)
    assert wait is not None
    assert wait >= max(least, POLICY.base / 2 * SECOND - 1)
    assert retry_delay(ErrorClass.HTTP_5XX, POLICY.attempts, POLICY, chance, least=least) is None


@given(chance=chances, asked=st.floats(0, 10_000))
def test_what_a_site_asks_for_is_not_undercut_below_the_cap(chance: float, asked: float) -> None:
    wait = retry_delay(ErrorClass.RATE_LIMITED, 1, POLICY, chance, asked)
    assert wait is not None
    assert min(asked, POLICY.cap) * SECOND - 1 <= wait <= POLICY.cap * SECOND
