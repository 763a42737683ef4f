"""An embedded database is brought to this version by whoever has its directory, and by nobody else."""

from pathlib import Path

import pytest

from fyke.core.errors import Conflict
from fyke.engine.lock import DirectoryLock
from fyke.settings import Settings
from fyke.store.migrate import current, head
from fyke.wiring import bring_up, open_base


async def test_no_database_changes_beneath_the_process_that_has_it(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    lock = DirectoryLock(settings.data_dir)
    await lock.start()
    for open_it in (open_base, bring_up):
        with pytest.raises(Conflict, match="in use"):
            await open_it(settings)
        assert await current(settings.store_url) is None
    await lock.stop()
    await open_base(settings)
    assert await current(settings.store_url) == head()


async def test_a_database_of_this_version_opens_beside_the_process_that_has_it(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    assert await bring_up(settings) == head()
    lock = DirectoryLock(settings.data_dir)
    await lock.start()
    base = await open_base(settings)
    await base.start()
    await base.stop()
    assert await bring_up(settings) == head()
    await lock.stop()
