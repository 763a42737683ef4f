"""Wrong use: exit code 2 and one readable line, that names the nearest of what there is."""

from pathlib import Path

import pytest

from tests.acceptance.command import Fyke

PAGE = "http://127.0.0.1:9/"
JOB = "194a0193-ca09-8af2-8000-000000000000"
NOBODY = "postgresql://fyke:s3cret@127.0.0.1:1/fyke"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("crwl", "unknown command 'crwl': did you mean 'crawl'?"),
        ("jobs lst", "Did you mean 'list'?"),
        (f"crawl {PAGE} --formt csv", "there is no option --formt: did you mean --format?"),
        ("worker --jsonn", "there is no option --jsonn: did you mean --json?"),
        (f"crawl {PAGE} --format cvs", "unknown export format 'cvs': did you mean 'csv'?"),
        (f"crawl {PAGE} --format ,", "--format: give one or more of csv"),
        (f"crawl {PAGE} --out /proc", "/proc cannot be written to"),
        (f"crawl {PAGE} --target prduct", "unknown target 'prduct': did you mean 'product'?"),
        (f"crawl {PAGE} --strategy htpp", "unknown strategy 'htpp': did you mean 'http'?"),
        (f"crawl {PAGE} --as sitmap", "unknown --as 'sitmap': did you mean 'sitemap'?"),
        (f"crawl {PAGE} --concurrency 0", "--concurrency"),
        (f"crawl {PAGE} --max-urls many", "--max-urls"),
        (f"crawl {PAGE} --delay nan", "--delay"),
        (f"crawl {PAGE} --delay inf", "--delay: inf is longer than a week"),
        ("crawl .", "'.' is a directory, not a file"),
        ("jobs create .", "'.' is a directory, not a file"),
        ("check --in .", "'.' is a directory, not a file"),
        ("crawl", "Missing argument 'SOURCE'"),
        ("crawl nowhere.txt", "there is no file 'nowhere.txt'"),
        ("crawl ftp://example.com/x", "scheme 'ftp' is not http or https"),
        (f"crawl {PAGE} --out wrong.toml", "wrong.toml cannot be a directory"),
        ("jobs list --state runing", "unknown state 'runing': did you mean 'running'?"),
        (f"jobs diff {JOB} --change Addd", "unknown --change 'Addd': did you mean 'added'?"),
        ("jobs show 17", "'17' is not the id of a job: `"),
        ("check", "give URLs"),
        ("check --in nowhere.txt", "there is no file 'nowhere.txt'"),
        ("serve --port 99999", "--port"),
        ("worker", "a worker needs a shared database"),
    ],
)
async def test_a_command_is_refused(fyke: Fyke, arguments: str, said: str) -> None:
    (fyke.directory / "wrong.toml").touch()
    done = await fyke.run(*arguments.split())
    assert said in done.line
    assert done.code == 2


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FYKE_PROT", "8000", "unknown setting 'FYKE_PROT': did you mean 'FYKE_PORT'?"),
        ("FYKE_PORT", "high", "FYKE_PORT: "),
        ("FYKE_HOST", "", "FYKE_HOST: "),
        ("FYKE_POLICIES", "nowhere.yaml", "FYKE_POLICIES: there is no file 'nowhere.yaml'"),
        ("FYKE_POLICIES", ".", "FYKE_POLICIES: '.' is a directory, not a file"),
        ("FYKE_POLICIES", "latin.yaml", "FYKE_POLICIES: latin.yaml is not UTF-8"),
        (
            "FYKE_POLICIES",
            "misspelt.yaml",
            "FYKE_POLICIES: misspelt.yaml: default: unknown policy key 'dely'",
        ),
        ("FYKE_CONFIG", ".", "FYKE_CONFIG: '.' is a directory, not a file"),
        ("FYKE_DATA_DIR", "wrong.toml", "FYKE_DATA_DIR: wrong.toml cannot be a directory: File exists"),
        ("FYKE_EGRESS_ALLOW", "300.1.1.1/8", "'300.1.1.1/8' is neither a network"),
        ("FYKE_CONFIG", "nowhere.toml", "there is no file 'nowhere.toml'"),
        ("FYKE_CONFIG", "wrong.toml", "unknown setting in wrong.toml: 'prot': did you mean 'port'?"),
        ("FYKE_CONFIG", "broken.toml", "broken.toml: "),
        ("FYKE_DATABASE_URL", "oracle://x", "no database for 'oracle'"),
        ("FYKE_DATABASE_URL", "sqlite:////proc/x/one.db", "FYKE_DATABASE_URL: /proc/x cannot be a directory"),
        ("FYKE_DATABASE_URL", "sqlite:////proc", "FYKE_DATABASE_URL: '/proc' is a directory, not a file"),
        ("FYKE_DATABASE_URL", "mysql://u:x@127.0.0.1:1:2/x", "FYKE_DATABASE_URL: its host, port or"),
    ],
)
async def test_a_setting_is_refused(fyke: Fyke, name: str, value: str, said: str) -> None:
    (fyke.directory / "wrong.toml").write_text("prot = 8000\n")
    (fyke.directory / "broken.toml").write_text("port = [")
    (fyke.directory / "latin.yaml").write_bytes(b"default: {user_agent: caf\xe9}\n")
    (fyke.directory / "misspelt.yaml").write_text("default: {dely: 1}\n")
    done = await fyke.run("crawl", PAGE, **{name: value})
    assert said in done.line
    assert "FYKE_WORKERS" not in done.line, "not all there are"
    assert done.code == 2


async def test_a_wrong_setting_is_named_before_anything_else_is_looked_at(fyke: Fyke) -> None:
    for command in ("settings", "check http://a.test/", "jobs list", "serve", "doctor"):
        done = await fyke.run(*command.split(), FYKE_RETRY_CAP="inf")
        assert (done.code, done.line.partition(": Input")[0]) == (2, "fyke: FYKE_RETRY_CAP"), command
    assert not fyke.data.exists()
    done = await fyke.run("version", FYKE_RETRY_CAP="inf")
    assert (done.code, done.err) == (0, "")


async def test_a_setting_in_dotenv_is_refused_and_taken(fyke: Fyke) -> None:
    dotenv = fyke.directory / ".env"
    dotenv.write_text("OTHER=1\nFYKE_WORKRES=2\n")
    done = await fyke.run("settings")
    assert "'FYKE_WORKRES': did you mean 'FYKE_WORKERS'?" in done.line
    assert done.code == 2
    dotenv.write_text("OTHER=1\nFYKE_WORKERS=2\n")
    done = await fyke.run("settings")
    assert "FYKE_WORKERS=2   (default: 1)" in done.out.splitlines()
    dotenv.write_bytes(b"\xff\xfe\x00")
    done = await fyke.run("settings")
    assert done.line.startswith("fyke: .env: ")
    assert done.code == 2


@pytest.mark.parametrize("command", ["db migrate", "serve", f"crawl {PAGE}"])
async def test_a_database_that_is_not_there(fyke: Fyke, command: str) -> None:
    done = await fyke.run(*command.split(), FYKE_DATABASE_URL=NOBODY)
    assert done.code == 1
    assert "the database did not answer" in done.line
    assert "s3cret" not in done.line


async def test_a_directory_that_cannot_be_made(fyke: Fyke) -> None:
    fyke.data.write_text("a file")
    done = await fyke.run("jobs", "list")
    assert (done.code, done.line) == (
        2,
        f"fyke: FYKE_DATA_DIR: {fyke.data} cannot be a directory: File exists",
    )


async def test_a_directory_instead_of_a_database_is_a_finding(fyke: Fyke) -> None:
    done = await fyke.run("doctor", FYKE_DATABASE_URL="sqlite:////proc")
    assert "wrong  database: FYKE_DATABASE_URL: '/proc' is a directory, not a file" in done.out.splitlines()
    assert done.code == 1


async def test_a_directory_in_which_nothing_can_be_made(fyke: Fyke) -> None:
    done = await fyke.run("jobs", "list", FYKE_DATA_DIR="/proc")
    assert "cannot be " in done.line  # written to, or for root, whom only the attempt tells: reached
    assert "sqlalche" not in done.line


async def test_without_a_command_there_is_the_help_alone(fyke: Fyke) -> None:
    done = await fyke.run()
    assert done.code == 2
    assert "Usage: " in done.out + done.err
    assert "fyke: ." not in done.err


async def test_the_doctor_finds_a_policies_file_that_cannot_be_read(fyke: Fyke) -> None:
    (fyke.directory / "latin.yaml").write_bytes(b"default: {user_agent: caf\xe9}\n")
    done = await fyke.run("doctor", FYKE_POLICIES="latin.yaml")
    (wrong,) = [line for line in done.out.splitlines() if line.startswith("wrong")]
    assert "FYKE_POLICIES: latin.yaml is not UTF-8" in wrong
    assert (done.code, done.err) == (1, "")


async def test_a_file_that_is_no_database(fyke: Fyke, tmp_path: Path) -> None:
    fyke.data.mkdir()
    (fyke.data / "fyke.db").write_text("a letter to a friend\n" * 100)
    done = await fyke.run("jobs", "list")
    assert done.code == 1
    assert "is not a database of Fyke" in done.line


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FYKE_OBJECTS_DIR", "/proc/x", "wrong  objects: /proc/x cannot be made: "),
        ("FYKE_DATABASE_URL", "sqlite:////proc/x/one.db", "wrong  database: /proc/x cannot be made: "),
    ],
)
async def test_the_doctor_finds_a_directory_that_cannot_be_made(
    fyke: Fyke, name: str, value: str, said: str
) -> None:
    done = await fyke.run("doctor", **{name: value})
    assert said in done.out
    assert done.code == 1


async def test_a_server_needs_a_place_for_objects(fyke: Fyke) -> None:
    done = await fyke.run("serve", FYKE_OBJECTS_DIR="/proc/x")
    assert done.line.startswith("fyke: FYKE_OBJECTS_DIR: /proc/x: the object store cannot be used: ")
    assert done.code == 2


async def test_the_directory_of_a_database_is_made(fyke: Fyke) -> None:
    done = await fyke.run("jobs", "list", FYKE_DATABASE_URL=f"sqlite:///{fyke.directory}/new/one.db")
    assert done.code == 0


async def test_help_lists_the_exit_codes(fyke: Fyke) -> None:
    done = await fyke.run("help", COLUMNS=200)
    assert done.code == 0
    for said in (
        "0 done",
        "1 failed",
        "2 wrong use",
        "3 refused",
        "4 partial",
        "5 stopped",
        "130 interrupted",
    ):
        assert said in done.out
