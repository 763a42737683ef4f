"""Settings are read once, at the start of every command: what is wrong is refused there, by its name."""

from pathlib import Path

import pytest

from fyke.core.errors import InvalidSetting
from fyke.settings import load


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FYKE_EGRESS_ALLOW", "10.0.0.0/8,10.0.0.0/33", "'10.0.0.0/33' is neither a network"),
        ("FYKE_EGRESS_ALLOW", ",,", "'' is neither a network"),
        ("FYKE_EGRESS_ALLOW", "10.0.0.0/8,*.a.test", "'*.a.test' is neither a network"),
        ("FYKE_EGRESS_ALLOW", "::ffff:127.0.0.1", "'::ffff:127.0.0.1' would let nothing through"),
        ("FYKE_DATABASE_URL", "oracle://x", "no database for 'oracle'"),
        ("FYKE_DATABASE_URL", "hunter2", "a URL such as postgresql://user@host/name is expected"),
        ("FYKE_DATABASE_URL", "sqlite://fyke.db", "sqlite:///relative/path or"),
        ("FYKE_DATABASE_URL", "sqlite:///", "sqlite:///relative/path or"),
        ("FYKE_DATABASE_URL", "sqlite:////var/lib/", "sqlite:///relative/path or"),
        ("FYKE_DATABASE_URL", "sqlite:///:memory:", "sqlite:///relative/path or"),
        ("FYKE_DATABASE_URL", "postgresql+asyncpg://me@db/fyke", "no database for 'postgresql+asyncpg'"),
        (
            "FYKE_DATABASE_URL",
            "mysql://u:hunter2@127.0.0.1:1:2/x",
            "its host, port or options",
        ),
        ("FYKE_DATABASE_URL", "mysql://u:hunter2@db:99999/x", "its host, port or options"),
        ("FYKE_DATABASE_URL", "mysql://u:hunter2@db:0/x", "none that can be connected to"),
        ("FYKE_DATABASE_URL", "mysql://u:hunter2@:33/x", "none that can be connected to"),
        ("FYKE_DATABASE_URL", "mysql://u:hunter2@db", "with the name of a database"),
        ("FYKE_DATABASE_URL", "postgresql://db/x?hunter2", "its host, port or options"),
        ("FYKE_DATABASE_URL", "postgresql://u:hunter2@[db/x", "its host, port or options"),
        ("FYKE_DATABASE_URL", "postgresql://u:hunter2/x@db/x", "written as %XX"),
        ("FYKE_DATABASE_URL", "postgresql://u:1/hunter2@db/x", "written as %XX"),
        ("FYKE_DATABASE_URL", "postgresql://u:1?hunter2=x@db/x", "written as %XX"),
        ("FYKE_DATABASE_URL", "postgresql://u:hunter2#x@db/x", "written as %XX"),
        ("FYKE_DATABASE_URL", "postgresql://u:1@hunter2@db/x", "written as %XX"),
        ("FYKE_DATABASE_URL", "postgresql://u:hunter2 x@db/x", "written as %XX"),
        ("FYKE_CORS_ORIGINS", "nonsense", "'nonsense' is no origin"),
        ("FYKE_CORS_ORIGINS", "https://a.test,https://b.test/", "'https://b.test/' is no origin"),
        ("FYKE_CORS_ORIGINS", "https://me:hunter2@a.test", "is no origin"),
        ("FYKE_CORS_ORIGINS", "https://me:hunter2,x@a.test", "is no origin"),
        ("FYKE_CORS_ORIGINS", "me:hunter2@a.test", "is no origin"),
        ("FYKE_DATA_DIR", "", "a directory is expected"),
        ("FYKE_USER_AGENT", "Me/1\r\nX-Evil: 1", "is not a user agent of printable characters"),
        ("FYKE_USER_AGENT", " ", "is not a user agent of printable characters"),
        ("FYKE_RETRY_CAP", "inf", "finite number"),
        ("FYKE_RETRY_BASE", "nan", "finite number"),
        ("FYKE_RETRY_FACTOR", "1e300", "less than or equal to 100"),
        ("FYKE_KEEP_RESULTS_DAYS", "1e300", "less than or equal to 36500"),
        ("FYKE_GRACE_SECONDS", "-inf", "FYKE_GRACE_SECONDS"),
    ],
)
def test_a_value_is_refused_by_its_name(
    name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSetting) as refused:
        load()
    assert refused.value.message.startswith(f"{name}: ")
    assert said in refused.value.message
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("grace_seconds = true", "FYKE_GRACE_SECONDS"),
        ("workers = false", "FYKE_WORKERS"),
        ("log_level = true", "FYKE_LOG_LEVEL"),
        ("egress_allow = [1]", "FYKE_EGRESS_ALLOW"),
        ("cors_origins = 5", "FYKE_CORS_ORIGINS"),
        ("port = 2026-11-19", "FYKE_PORT"),
    ],
)
def test_a_value_in_toml_is_refused_by_its_name(line: str, name: str) -> None:
    Path("fyke.toml").write_text(f"{line}\n")
    with pytest.raises(InvalidSetting) as refused:
        load()
    assert refused.value.message.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FYKE_EGRESS_ALLOW", "10.0.0.0/8,intranet.example,[::1],127.0.0.1"),
        ("FYKE_EGRESS_ALLOW", ""),
        ("FYKE_CORS_ORIGINS", "*"),
        ("FYKE_CORS_ORIGINS", "http://localhost:3000,https://app.example.com,http://[::1]:80"),
        ("FYKE_CORS_ORIGINS", "chrome-extension://abcdefghijklmnop"),
        ("FYKE_DATABASE_URL", "postgresql://me:s%2Fcret:1@db:5433/fyke?sslmode=require"),
        ("FYKE_DATABASE_URL", "postgresql://me@/fyke?host=/run/postgresql"),
        ("FYKE_DATABASE_URL", "postgres://[::1]:5432"),
        ("FYKE_DATABASE_URL", "mariadb://me@db/fyke"),
        ("FYKE_DATABASE_URL", "sqlite:////var/lib/fyke.db"),
        ("FYKE_DATABASE_URL", ""),
        ("FYKE_RETRY_CAP", "0"),
    ],
)
def test_a_value_is_taken(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    load()


def test_lists_in_toml_have_items() -> None:
    Path("fyke.toml").write_text('egress_allow = ["10.0.0.0/8", "intranet.example"]\ngrace_seconds = 5\n')
    assert load().egress_allow == ["10.0.0.0/8", "intranet.example"]
    assert load().grace_seconds == 5


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FYKE_PORT='hunter2", 1),
        ('OTHER=1\n\n# why\nFYKE_PORT="hunter2\nFYKE_WORKERS=2\n', 4),
        ("OTHER=1\r\n\r\nhunter2 hunter2\r\n", 3),
        ("FYKE_PORT: hunter2", 1),
        ("FYKE_PORT:hunter2", 1),
        ("FYKE_PORT:hunter2=", 1),
        ("FYKE_PORT='81' hunter2", 1),
        ("export FYKE_PORT", 1),
        ("fyke_port", 1),
    ],
)
def test_a_line_of_dotenv_that_cannot_be_read_is_refused_by_its_number(text: str, line: int) -> None:
    Path(".env").write_bytes(text.encode())
    with pytest.raises(InvalidSetting) as refused:
        load()
    assert refused.value.message.startswith(f".env, line {line}: ")
    assert "hunter2" not in refused.value.message


def test_what_dotenv_may_have_in_it() -> None:
    Path(".env").write_text(
        "# FYKE_PORT\n\nexport FYKE_PORT='81' # why\nOTHER\nA=\"1\n2\"\nFYKE_OBJECTS_DIR=\n"
    )
    assert load().port == 81


@pytest.mark.parametrize("name", [".env", "fyke.toml"])
def test_a_directory_is_no_file_of_settings(name: str) -> None:
    Path(name).mkdir()
    with pytest.raises(InvalidSetting, match=f"'{name}' is a directory, not a file"):
        load()


def test_an_empty_name_of_a_file_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FYKE_CONFIG", "")
    Path("fyke.toml").write_text("port = 81\n")
    assert load().port == 81
