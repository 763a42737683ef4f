"""Every setting, in one place, and the only reader of the environment.

A setting comes from, in order: `FYKE_*` environment variables, the `.env` file of the working
directory, the TOML file that `FYKE_CONFIG` names (or `fyke.toml` in the working directory), its
default.
"""

import os
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from dotenv.parser import parse_stream
from pydantic import BaseModel, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from fyke.core.database_url import why_unusable
from fyke.core.errors import InvalidSetting, UnknownName
from fyke.core.secrets import hide_login
from fyke.egress.guard import Guard

__all__ = ["Settings", "described", "load", "no_file", "spelled"]

Names = Annotated[list[str], NoDecode]
DOTENV: Final = Path(".env")
NAME: Final = re.compile(r"[A-Z0-9_]+")
ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Settings(BaseSettings):
    """What can be set. Lists are written with commas."""

    model_config = SettingsConfigDict(
        env_prefix="FYKE_", env_file=DOTENV, extra="ignore", frozen=True, allow_inf_nan=False
    )

    data_dir: Path = Field(Path(".fyke"), description="Where the embedded database, objects and keys live.")
    database_url: str = Field(
        "",
        description="sqlite:///path, postgresql://… or mysql://…, special characters of a password as %XX;"
        " empty: SQLite in the data directory.",
    )
    database_connections: int = Field(
        6, ge=2, le=100, description="Connections a process keeps to the database."
    )
    sqlite_synchronous: Literal["FULL", "NORMAL"] = Field(
        "FULL",
        description="FULL: every commit is on the disk. NORMAL: a power cut may lose the last moments.",
    )
    objects_dir: str = Field(
        "", description="Where exports and bodies go; empty: `objects` in the data directory."
    )
    policies: Path | None = Field(None, description="A YAML file of policies laid over the shipped ones.")

    host: str = Field("127.0.0.1", description="The address the server binds to.")
    port: int = Field(8000, ge=0, le=65535, description="The port the server binds to.")
    cors_origins: Names = Field(
        ["http://localhost:3000"], description="Origins that browsers may call the API from."
    )
    grace_seconds: float = Field(30.0, ge=0, le=3600, description="How long a stop waits for what runs.")

    workers: int = Field(1, ge=0, le=64, description="Worker processes; 1 runs inside the server.")
    concurrency: int = Field(64, ge=1, le=2000, description="Tasks a worker runs at once.")
    lease_seconds: float = Field(15.0, ge=1, le=3600, description="How long a silent worker keeps its tasks.")

    egress_allow: Names = Field(
        [],
        description="Addresses (CIDR) and host names that may be fetched though they are not public; loopback"
        " and link-local only by an entry of their own.",
    )
    user_agent: str = Field(
        "Fyke/0.1",
        description="What targets are told when no policy says otherwise.",
    )
    connect_timeout: float = Field(10.0, gt=0, le=300, description="Seconds to connect, TLS included.")
    read_timeout: float = Field(
        20.0, gt=0, le=300, description="Seconds to wait for the first byte of an answer."
    )
    total_timeout: float = Field(
        60.0,
        gt=0,
        le=3600,
        description="Seconds for an attempt, redirects included; five times as many for a sitemap,"
        " half as many for robots.txt.",
    )
    max_header_bytes: int = Field(64_000, ge=1_000, description="Bytes of response headers accepted.")
    max_body_bytes: int = Field(10_000_000, ge=1_000, description="Bytes of a page accepted, as sent.")
    max_inflated_bytes: int = Field(30_000_000, ge=1_000, description="Bytes of a page accepted, inflated.")
    max_redirects: int = Field(10, ge=0, le=50, description="Redirects followed.")

    retry_attempts: int = Field(3, ge=1, le=100, description="Attempts at a page, the first included.")
    retry_base: float = Field(2.0, ge=0, le=86_400, description="Seconds before the second attempt.")
    retry_factor: float = Field(2.0, ge=1, le=100, description="By how much each further wait is longer.")
    retry_cap: float = Field(600.0, ge=0, le=2_592_000, description="Seconds a wait never exceeds.")

    keep_results_days: float = Field(
        30, gt=0, le=36_500, description="Days that ended jobs and their pages are kept."
    )
    keep_failures_days: float = Field(90, gt=0, le=36_500, description="Days that failed jobs are kept.")
    max_urls_per_request: int = Field(
        100_000, ge=1, description="URLs that one request to the API may carry."
    )

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="The least level logged."
    )
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="auto: readable on a terminal, else JSON."
    )

    @field_validator("*", mode="before")
    @classmethod
    def _no_yes_or_no(cls, value: Any) -> Any:
        """TOML has true and false, which would pass for 1 and 0."""
        if isinstance(value, bool):
            raise ValueError(f"{str(value).lower()} is no value of this setting")
        return value

    @field_validator("database_url")
    @classmethod
    def _known_database(cls, value: str) -> str:
        reason = value and why_unusable(value)
        if reason:
            raise ValueError(reason)
        return value

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, value: list[str]) -> list[str]:
        if any("@" in origin for origin in value):  # and a comma may have cut the password in two
            raise ValueError("what carries a user name or password is no origin as browsers send it")
        for origin in value:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"{origin!r} is no origin as browsers send it: https://app.example.com, without a path,"
                    " or * for all"
                )
        return value

    @field_validator("egress_allow")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        try:
            Guard(value)
        except InvalidSetting as error:
            raise ValueError(error.message) from None
        return value

    @field_validator("host")
    @classmethod
    def _some_host(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("an address is expected; 0.0.0.0 stands for all of this machine's")
        return value.strip()

    @field_validator("data_dir", mode="before")
    @classmethod
    def _some_directory(cls, value: Any) -> Any:
        if str(value).strip() == "":
            raise ValueError("a directory is expected; . is the current one")
        return value

    @field_validator("user_agent")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not value.isprintable() or not value.strip():
            raise ValueError(f"{value!r} is not a user agent of printable characters")
        return value

    @field_validator("policies", mode="before")
    @classmethod
    def _there(cls, value: Any) -> Any:
        if value is None or str(value) == "":
            return None
        if not Path(value).is_file():
            raise ValueError(no_file(Path(value)))
        return value

    @field_validator("cors_origins", "egress_allow", mode="before")
    @classmethod
    def _split(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",")] if value.strip() else []
        return parts if info.field_name == "egress_allow" else [part for part in parts if part]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        toml = TomlConfigSettingsSource(settings_cls, _config_file())
        return init_settings, env_settings, dotenv_settings, toml

    @property
    def store_url(self) -> str:
        """The database's URL."""
        return self.database_url or f"sqlite:///{(self.data_dir / 'fyke.db').absolute()}"

    @property
    def embedded(self) -> bool:
        return self.store_url.startswith("sqlite")

    @property
    def database_file(self) -> Path:
        """Where an embedded database is."""
        return Path(self.store_url.removeprefix("sqlite:///"))

    @property
    def objects_path(self) -> Path:
        return Path(self.objects_dir) if self.objects_dir else self.data_dir / "objects"


def load(**overrides: Any) -> Settings:
    """Read and validate; InvalidSetting names what is wrong."""
    try:
        _refuse_unknown()
        return Settings(**overrides)
    except ValidationError as error:
        raise as_invalid(error) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InvalidSetting(f"{_config_file()}: {error}", field="FYKE_CONFIG") from None


def as_invalid(error: ValidationError) -> InvalidSetting:
    problems = [
        (f"FYKE_{str(one['loc'][0]).upper()}", str(one["msg"]).removeprefix("Value error, "))
        for one in error.errors()
    ]
    return InvalidSetting(
        "; ".join(f"{name}: {message}" for name, message in problems),
        fields=[{"field": name, "message": message} for name, message in problems],
    )


@cache
def names() -> tuple[str, ...]:
    return tuple(f"FYKE_{name.upper()}" for name in Settings.model_fields)


def _refuse_unknown() -> None:
    """A misspelt setting would be ignored in silence: name the nearest instead."""
    for name in os.environ:
        if name.startswith("FYKE_") and name not in names() and name != "FYKE_CONFIG":
            raise UnknownName("setting", name, names())
    try:
        _refuse_unreadable(DOTENV)
        dotenv = DotEnvSettingsSource(Settings).env_vars
    except (UnicodeDecodeError, OSError) as error:
        raise InvalidSetting(f".env: {error}", field=".env") from None
    for name in dotenv:
        if name.startswith("fyke_") and name.upper() not in (*names(), "FYKE_CONFIG"):
            raise UnknownName("setting in .env:", name.upper(), names())
    file = _config_file()
    if os.environ.get("FYKE_CONFIG") and not file.is_file():
        raise InvalidSetting(f"FYKE_CONFIG: {no_file(file)}", field="FYKE_CONFIG")
    if file.is_dir():
        raise InvalidSetting(no_file(file), field="FYKE_CONFIG")
    if file.is_file():
        for name in tomllib.loads(file.read_text("utf-8")):
            if name not in Settings.model_fields:
                raise UnknownName(f"setting in {file}:", name, Settings.model_fields)


def _refuse_unreadable(file: Path) -> None:
    """A line that cannot be read would be passed over, its setting be at its default. What the line has in
    it is not shown: it may be a password."""
    if file.is_dir():
        raise InvalidSetting(no_file(file), field=str(file))
    if not file.is_file():
        return
    with file.open(encoding="utf-8") as stream:
        for binding in parse_stream(stream):
            name = (binding.key or "").upper()
            ours = name.startswith("FYKE_") and (binding.value is None or not NAME.fullmatch(name))
            if binding.error or ours:
                blank = re.match(r"\s*", binding.original.string)
                line = binding.original.line + (blank[0].count("\n") if blank else 0)
                raise InvalidSetting(
                    f"{file}, line {line}: NAME=value is expected, quotes around all of the value or none",
                    field=str(file),
                )


def no_file(path: Path) -> str:
    """What is wrong with a path at which a file should be."""
    what = "is a directory, not a file" if path.is_dir() else "is no file that can be read"
    shown = repr(hide_login(str(path)))  # it may have been meant as a URL
    return f"{shown} {what}" if path.exists() else f"there is no file {shown}"


def _config_file() -> Path:
    return Path(os.environ.get("FYKE_CONFIG") or "fyke.toml")


class Described(BaseModel):
    """One setting, for people."""

    name: str
    default: str
    description: str


def spelled(value: Any) -> str:
    """A value as it is written in the environment."""
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return "" if value is None else str(value)


def described() -> list[Described]:
    """All settings in the order of this file."""
    return [
        Described(
            name=f"FYKE_{name.upper()}", default=spelled(field.default), description=field.description or ""
        )
        for name, field in Settings.model_fields.items()
    ]
