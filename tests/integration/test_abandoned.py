"""What killed writers left is cleared by the next process that runs; what is being written is not."""

import asyncio
import os
from pathlib import Path

from fyke.settings import Settings
from fyke.wiring import Engine, open_base


def leave(directory: Path, name: str, *, old: bool) -> Path:
    made = directory / name
    made.mkdir(parents=True)
    (made / "full.csv").write_text("url\n")
    if old:
        for path in (made / "full.csv", made):
            os.utime(path, (0, 0))
    return made


async def test_files_of_killed_writers_go_at_the_start(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data_dir": tmp_path / "data"})
    places = (settings.data_dir / "tmp", settings.objects_path / ".incoming")
    abandoned = [leave(place, "fyke-old", old=True) for place in places]
    fresh = [leave(place, "fyke-new", old=False) for place in places]
    written = leave(places[0], "fyke-long", old=True)  # for days, but still
    os.utime(written / "full.csv")
    engine = Engine(await open_base(settings), None)
    await engine.start()
    async with asyncio.timeout(20):
        while any(path.exists() for path in abandoned):  # noqa: ASYNC110 - files give no signal
            await asyncio.sleep(0.01)
    await engine.stop()
    assert all((path / "full.csv").exists() for path in (*fresh, written))
