"""Commands that look: check, doctor, settings, version; and what a terminal shows."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import termios
from contextlib import suppress
from pathlib import Path

from fyke import __version__
from tests.acceptance.command import FAST, FYKE, LONGEST, Fyke
from tests.integration.jobs.site import Site, sitemap_of

COLUMNS = 80
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ASKED = [
    "http://127.0.0.1/x",
    "http://10.0.0.1/",
    "nonsense",
    "http://[::1]/",
    "http://bob:hunter2@127.0.0.1:8/",
]
SHOWN = [*ASKED[:-1], "http://***@127.0.0.1:8/"]
ALLOWED = [True, False, False, False, False]


async def test_check_as_lines_of_json_from_everywhere(fyke: Fyke, tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(["", "# asked", *ASKED, ""]))
    text = listed.read_text()
    for done in (
        await fyke.run("check", "--json", *ASKED),
        await fyke.run("check", "--json", "--in", listed),
        await fyke.run("check", "--json", "--in", "-", stdin=text),
        await fyke.run("check", "--json", "-", stdin=text),
    ):
        found = [json.loads(line) for line in done.out.splitlines()]
        assert [one["url"] for one in found] == SHOWN
        assert [one["allowed"] for one in found] == ALLOWED
        assert all(one["reason"] for one in found)
        assert done.code == 2
        assert "hunter2" not in done.out + done.err
    assert "hunter2" not in (await fyke.run("check", ASKED[-1])).out
    plain = await fyke.run("check", "--in", listed)
    assert [line.split("  ")[0] for line in plain.out.splitlines()] == [
        "allowed", "refused", "no URL", "refused", "refused",
    ]  # fmt: skip
    listed.write_bytes(b"http://127.0.0.1/caf\xe9\n")
    latin = await fyke.run("check", "--in", listed)
    assert (latin.code, latin.out.strip()) == (2, "no URL   http://127.0.0.1/caf\\xe9  not UTF-8")
    listed.write_text("\n".join(["# none but these", "", ASKED[1], ""]))
    assert (await fyke.run("check", "--in", listed)).code == 3
    one = await fyke.run("check", ASKED[0])
    assert (one.code, one.out.split()[:2]) == (0, ["allowed", ASKED[0]])
    without = await fyke.run("check", ASKED[0], FYKE_EGRESS_ALLOW="")
    assert without.code == 3
    assert "loopback" in without.out
    assert "FYKE_EGRESS_ALLOW" in without.out


async def test_doctor_settings_version(fyke: Fyke) -> None:
    done = await fyke.run("doctor", "--json")
    assert (done.code, done.json["ok"]) == (0, True)
    assert {"data directory", "database", "policies", "guard"} <= {
        one["name"] for one in done.json["findings"]
    }
    text = await fyke.run("doctor")
    assert len(text.out.splitlines()) == len(done.json["findings"])

    secret = "postgresql://fyke:s3cret@127.0.0.1/fyke"
    done = await fyke.run("settings", "--json", FYKE_DATABASE_URL=secret)
    values = {one["name"]: one for one in done.json}
    assert values["FYKE_EGRESS_ALLOW"]["value"] == "127.0.0.0/8"
    assert values["FYKE_PORT"]["default"] == "8000"
    assert all(one["description"] for one in done.json)
    assert "s3cret" not in done.out
    text = await fyke.run("settings", FYKE_DATABASE_URL=secret)
    assert all(f"{name}=" in text.out for name in values)
    assert "s3cret" not in text.out

    assert (await fyke.run("version")).out == __version__
    assert (await fyke.run("--version")).out == __version__
    assert (await fyke.run("version", "--json")).json == {"version": __version__}


async def on_a_terminal(fyke: Fyke, *arguments: object) -> tuple[int, str]:
    """Run a command on a terminal of 80 columns; its code and all that it drew."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = await asyncio.create_subprocess_exec(
        str(FYKE),
        *map(str, arguments),
        cwd=fyke.directory,
        env={**fyke.settings, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    reading = asyncio.create_task(asyncio.to_thread(_drain, ours))
    async with asyncio.timeout(LONGEST):
        return await process.wait(), await reading


def _drain(descriptor: int) -> str:
    drawn = b""
    with suppress(OSError), os.fdopen(descriptor, "rb", buffering=0) as terminal:
        while piece := terminal.read(65536):
            drawn += piece
    return CONTROL.sub("", drawn.decode())


async def test_a_terminal_sees_a_bar_with_rate_and_time(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(60)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls([*paths, "/gone"]))
    crawl = (
        "crawl",
        web.url("/sitemap.xml"),
        "--out",
        tmp_path / "o",
        "--concurrency",
        "2",
        "--delay",
        "0.02",
    )
    code, drawn = await on_a_terminal(fyke, *crawl)
    assert code == 4
    assert re.search(r"crawling  ━+╸━* +\d+/61 [\d.]+/s 0:00:\d\d, 0:00:\d\d left", drawn)
    assert re.search(r"partial +━+ 61/61 [\d.]+/s 0:00:\d\d", drawn)
    (failed,) = [line for line in re.split(r"[\r\n]+", drawn) if "/gone" in line]
    assert failed == f"failed: {web.url('/gone')}: status 404", "it stands above the bar, not in it"
    bars = [line for line in re.split(r"[\r\n]+", drawn) if "━" in line]
    assert all(len(line) <= COLUMNS - len("^C") for line in bars), "it can be interrupted in its line"

    code, drawn = await on_a_terminal(fyke, "jobs", "list")
    head, job, below = drawn.splitlines()
    assert head.split() == ["id", "state", "pages", "failed", "source"]
    assert re.match(r"[0-9a-f-]{36}  partial  61/61  1 +http://127", job)
    assert len(job) <= COLUMNS
    assert below == "No room for: created (a wider terminal or --json shows more)"


async def test_away_from_a_terminal_there_is_no_bar(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    web.products(1)
    done = await fyke.run("crawl", web.url("/p/0"), "--out", tmp_path / "out", *FAST)
    assert "━" not in done.out + done.err
    assert "\x1b" not in done.out + done.err
