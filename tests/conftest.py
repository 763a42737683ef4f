"""What tests may ask for. A test whose server is not installed is skipped by name and counted; with
CI=true that fails it."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import pytest

from tests.processes import Missing, program
from tests.servers import MariaDB, Postgres, Redis, Server
from tests.services import Services

WANTED: Final = "wanted: "
CHROMIUM: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

S = TypeVar("S", bound=Server)

services_key: Final = pytest.StashKey[Services]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, and only those")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; runs with --long alone")
    shared = getattr(config, "workerinput", {}).get("services")  # in a process that shares the work
    config.stash[services_key] = Services(Path(shared)) if shared else Services.make()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["services"] = str(node.config.stash[services_key].directory)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[services_key].close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = bool(config.getoption("--long"))
    others = [item for item in items if (item.get_closest_marker("long") is not None) != long]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for all tests that were skipped because something is not installed."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple) and WANTED in report.longrepr[2]:
            reasons[report.longrepr[2].partition(WANTED)[2]] += 1
    if reasons:
        listed = ", ".join(f"{reason}: {count}" for reason, count in sorted(reasons.items()))
        terminalreporter.write_line(f"Skipped for want of something ({listed})", yellow=True)


def absent(missing: Missing) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{WANTED}{missing}", pytrace=False)
    pytest.skip(f"{WANTED}{missing}")


def shared(services: Services, kind: type[S]) -> S:
    try:
        return services.shared(kind)
    except Missing as missing:
        absent(missing)


def private(services: Services, kind: type[S]) -> Iterator[S]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(services.private(kind, durable=True))
        except Missing as missing:
            absent(missing)
        yield server


@pytest.fixture(scope="session")
def services(pytestconfig: pytest.Config) -> Services:
    return pytestconfig.stash[services_key]


@pytest.fixture
def postgres_url(services: Services) -> Iterator[str]:
    """A fresh, empty database on PostgreSQL."""
    with shared(services, Postgres).database() as url:
        yield url


@pytest.fixture
def mysql_url(services: Services) -> Iterator[str]:
    """A fresh, empty database on MariaDB."""
    with shared(services, MariaDB).database() as url:
        yield url


@pytest.fixture
def redis_url(services: Services, worker_id: str) -> str:
    """An empty Redis database. Channels are common to all of them: name yours as nobody else does."""
    number = int(worker_id.removeprefix("gw")) + 1 if worker_id != "master" else 0
    server = shared(services, Redis)
    server.flush(number)
    return server.url(number)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite database that is not yet there."""
    return f"sqlite:///{tmp_path}/fyke.db"


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A fresh, empty database on each kind in turn."""
    fixtures = {"sqlite": "sqlite_url", "postgres": "postgres_url", "mariadb": "mysql_url"}
    return str(request.getfixturevalue(fixtures[request.param]))


@pytest.fixture
def own_postgres(services: Services) -> Iterator[Postgres]:
    """A PostgreSQL of the test's own, durable, to be killed and paused at will."""
    yield from private(services, Postgres)


@pytest.fixture
def own_mariadb(services: Services) -> Iterator[MariaDB]:
    """A MariaDB of the test's own, durable, to be killed and paused at will."""
    yield from private(services, MariaDB)


@pytest.fixture
def own_redis(services: Services) -> Iterator[Redis]:
    """A Redis of the test's own, to be killed and paused at will."""
    yield from private(services, Redis)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    try:
        return program(*CHROMIUM)
    except Missing as missing:
        absent(missing)
