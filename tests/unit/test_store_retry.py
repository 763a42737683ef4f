"""What a database asks to be done again, and for how long it is."""

import pytest

from fyke.core.errors import StoreBusy, StoreError
from fyke.store.retry import ATTEMPTS, ATTEMPTS_AT_KEYS, Again, Taken, retrying


@pytest.mark.parametrize(
    ("cause", "ends_as", "attempts"), [(Again, StoreBusy, ATTEMPTS), (Taken, StoreError, ATTEMPTS_AT_KEYS)]
)
async def test_what_does_not_pass_ends_as_what_it_is(
    cause: type[Again], ends_as: type[StoreError], attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is busy is left alone; a row that it refuses is the row's fault."""

    async def at_once(_: float) -> None: ...

    monkeypatch.setattr("asyncio.sleep", at_once)
    tries = []

    async def attempt() -> None:
        tries.append(1)
        raise cause from ValueError("said the driver")

    with pytest.raises(StoreError, match="said the driver") as raised:
        await retrying(attempt)
    assert type(raised.value) is ends_as
    assert len(tries) == attempts
