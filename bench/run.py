"""Rounds: everybody in turn, on the same pages, and a table in the end."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import fyke
from bench import figures, pages
from bench.compare import Row, compare, fyke_rows, peer_rows
from bench.environment import HERE, ROOT, prepare
from bench.machine import cores, machine
from bench.measure import Run, RunFailed, run
from bench.report import Measured, Report, document, table
from bench.services import DISK, Missing, Services, program, services
from bench.systems import CONCURRENCY, FYKE, SYSTEMS, System, Turn

__all__ = ["main"]

RESULTS = HERE / "results"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
LIMIT_SECONDS = 180.0
COMPARED = 2 * pages.COUNT
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "FYKE_EGRESS_ALLOW": "127.0.0.0/8",
    "FYKE_LOG_LEVEL": "WARNING",  # as for the peers
}
BUSY = 0.3


class Bench:
    """The rounds of one call: what is measured, where, and what has come out so far."""

    def __init__(
        self, found: Services, chosen: Sequence[System], limit: int | None, client: int | None
    ) -> None:
        self.services = found
        self.chosen = tuple(chosen)
        self.limit = limit
        self.client = client
        self.runs: dict[str, list[Run]] = {system.name: [] for system in chosen}
        self.failed: dict[str, str] = {}
        self.same: dict[str, str] = {}
        self.differing: set[str] = set()
        self.exports: Path | None = None

    def size(self, system: System) -> int:
        return min(system.size, self.limit or system.size)

    def url_list(self, size: int) -> Path:
        path = self.services.directory / f"urls-{size}.txt"
        if not path.exists():
            path.write_text("\n".join(pages.urls(self.services.nginx, size)) + "\n")
        return path

    def execute(self, command: Sequence[str], directory: Path) -> Run:
        return run(
            command,
            core=self.client,
            limit=LIMIT_SECONDS,
            cwd=ROOT,
            log=directory / "stderr.log",
            environment={**ENVIRONMENT, "FYKE_DATA_DIR": str(directory / "data")},
        )

    def warm(self) -> None:
        """Have nginx read every page once, so that the first turn is like the others."""
        for url in pages.urls(self.services.nginx, pages.COUNT):
            with urllib.request.urlopen(url, timeout=10) as answer:
                answer.read()

    def export(self) -> None:
        """Let Fyke crawl some of the pages as a user would, for its exports to be compared with."""
        directory = self.services.directory / "exports"
        directory.mkdir()
        options = [
            "--target",
            "product",
            "--delay",
            "0",
            "--concurrency",
            str(CONCURRENCY),
            "--format",
            "csv",
        ]
        command = [
            FYKE,
            "crawl",
            str(self.url_list(COMPARED)),
            "--out",
            str(directory / "out"),
            *options,
            "--json",
        ]
        try:
            self.execute(command, directory)
        except (RunFailed, OSError) as failure:
            print(f"no comparison: fyke crawl {failure}", file=sys.stderr)
            return
        self.exports = directory / "out"

    def turn(self, system: System, number: int) -> None:
        directory = self.services.directory / f"{system.name}-{number}"
        directory.mkdir()
        size = self.size(system)
        turn = Turn(services=self.services, directory=directory, url_list=self.url_list(size), size=size)
        try:
            found = self.execute(system.command(turn), directory)
            rate = rate_of(system, found, size)
        except (RunFailed, Missing, OSError) as failure:
            self.failed[system.name] = str(failure)
            print(f"  {system.name}: {failure}", file=sys.stderr, flush=True)
            return
        self.runs[system.name].append(found)
        note = f"{rate:,.0f}/s, {found.core_share:.0%} of a core, {found.max_mb:,.0f} MB"
        print(f"  {system.name}: {note}", file=sys.stderr, flush=True)
        if turn.out.exists():
            self.check(system, peer_rows(turn.out), size)
        elif turn.exports.exists():
            self.check(system, fyke_rows(turn.exports), size)

    def check(self, system: System, rows: dict[str, Row], size: int) -> None:
        """What a run left is compared with the exports of `fyke crawl`; a bad verdict stays."""
        if self.exports is None or system.name in self.differing:
            return
        found = compare(fyke_rows(self.exports), rows)
        self.same[system.name] = found.verdict
        if len(rows) != size:
            self.same[system.name] = f"{len(rows)} rows of {size}"
        if found.differing or len(rows) != size:
            self.differing.add(system.name)
            print(f"    {self.same[system.name]} {found.example}", file=sys.stderr, flush=True)

    def round(self, number: int) -> None:
        first = number % len(self.chosen)
        for system in (*self.chosen[first:], *self.chosen[:first]):
            if system.name not in self.failed:
                self.turn(system, number)

    def measured(self) -> dict[str, Measured]:
        return {system.name: self._measured(system) for system in self.chosen}

    def _measured(self, system: System) -> Measured:
        runs, size = self.runs[system.name], self.size(system)
        return Measured(
            rates=[rate_of(system, found, size) for found in runs],
            core_shares=[found.core_share for found in runs],
            max_mb=max((found.max_mb for found in runs), default=0),
            version=_version(system, runs),
            size=size,
            same=self.same.get(system.name, ""),
            failed=self.failed.get(system.name, ""),
        )


def _version(system: System, runs: Sequence[Run]) -> str:
    if system.name.startswith("fyke"):
        return fyke.__version__
    return str(runs[0].printed.get("version", "")) if runs else ""


def rate_of(system: System, found: Run, size: int) -> float:
    """Pages or tasks a second. A run that did not do all its work is none."""
    printed = found.printed
    unit = "pages" if system.kind == "crawl" else "tasks"
    done = printed.get("succeeded", printed[unit])
    if done != size:
        raise RunFailed(f"{done} of {size} {unit} came out")
    per_second = printed.get(f"{unit}_per_second")
    return float(per_second if per_second is not None else size / printed["seconds"])


def choose(only: str | None) -> list[System]:
    if not only:
        return list(SYSTEMS)
    wanted = only.split(",")
    unknown = set(wanted) - {system.name for system in SYSTEMS}
    if unknown:
        names = ", ".join(system.name for system in SYSTEMS)
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; there are: {names}")
    return [system for system in SYSTEMS if system.name in wanted]


def pins() -> tuple[int | None, int | None]:
    """The cores of the servers and of whoever is measured."""
    mine = cores()
    if len(mine) < 2:
        print("One core for everybody: figures will be low.", file=sys.stderr)
        return None, None
    return mine[0], mine[1]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    options.add_argument("--only", help="names, with commas; without, everybody")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--urls", type=int, help="pages or tasks a run at most")
    options.add_argument("--no-compare", action="store_true", help="do not compare columns with Fyke's")
    return options.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    chosen = choose(options.only)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers are stopped on the way out
    try:
        prepare()
        program("nginx")
    except (Missing, subprocess.CalledProcessError) as failure:
        raise SystemExit(f"bench: {failure}") from None
    report = rounds(chosen, options)
    all_of_it = options.only is None and options.urls is None
    if all_of_it:
        report = msgspec.structs.replace(report, own=own_figures())
    save(report, whole=all_of_it and options.rounds >= 3)
    failed = [found.failed for found in report.measured.values()] + [found.failed for found in report.own]
    return 1 if any(failed) else 0


def own_figures() -> Sequence[figures.Found]:
    """What is measured of Fyke alone, when the servers are gone."""
    print("Fyke alone", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="fyke-bench-", dir=DISK) as directory:
        return figures.measure(Path(directory), ENVIRONMENT)


def rounds(chosen: Sequence[System], options: argparse.Namespace) -> Report:
    """Start the servers, run all rounds, stop the servers."""
    server, client = pins()
    busy = os.getloadavg()[0]
    if busy > BUSY:
        print(f"Others are at work here (load {busy:.1f}): figures will be low.", file=sys.stderr)
    with (
        tempfile.TemporaryDirectory(prefix="fyke-bench-pages-") as root,
        services(Path(root), server) as found,
    ):
        pages.write(Path(root), found.nginx)
        bench = Bench(found, chosen, options.urls, client)
        bench.warm()
        if not options.no_compare:
            bench.export()
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
            bench.round(number)
        return Report(
            day=datetime.now(UTC).date().isoformat(),
            rounds=options.rounds,
            machine=machine(found.directory) | {"Load at the start": f"{busy:.2f}"},
            systems=tuple(chosen),
            measured=bench.measured(),
        )


def save(report: Report, *, whole: bool) -> None:
    """Print the table and keep the figures; only a whole run becomes the document."""
    print(table(report))
    RESULTS.mkdir(exist_ok=True)
    kept = {
        "day": report.day,
        "rounds": report.rounds,
        "machine": report.machine,
        "measured": report.measured,
        "own": report.own,
    }
    path = RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2))
    print(f"\nkept as {path.relative_to(ROOT)}")
    if whole:
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(document(report), encoding="utf-8")
        print(f"written: {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    raise SystemExit(main())
