"""One policy: how a site is treated. Read from YAML with errors that name the place, written back alike."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec import Struct
from msgspec.structs import replace

from fyke.core.clock import SECOND
from fyke.core.errors import InvalidSetting, UnknownName
from fyke.core.task import LaneSpec
from fyke.politeness.hours import Window, opens_in, read_window, write_window

__all__ = ["Policy", "read_policy", "write_policy"]

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(ms|s|min|m|h|d)")
LONGEST: Final = 7 * 86400.0
HOST: Final = re.compile(r"[a-z0-9_\-\[\]:.]+(\.\*)?")


class Policy(Struct, frozen=True, kw_only=True):
    """How the hosts it is for are treated. `delay` is the time in seconds between two requests; `shared`
    says that all its hosts count as one."""

    name: str = "default"
    hosts: tuple[str, ...] = ()
    shared: bool = False
    delay: float = 1.0
    burst: int = 1
    concurrency: int = 1
    robots: Literal["obey", "ignore"] = "obey"
    crawl_delay_cap: float = 60.0
    halve_for: float = 300.0
    hours: tuple[Window, ...] = ()
    time_zone: str = "UTC"
    user_agent: str | None = None

    def lane(self, key: str) -> LaneSpec:
        return LaneSpec(key, round(self.delay * SECOND), self.burst, self.concurrency)

    def opens_in(self, now: int) -> int:
        """µs until the policy's hours allow a request."""
        return opens_in(self.hours, self.time_zone, now)


def read_policy(name: str, fields: Mapping[str, Any], base: Policy, place: str) -> Policy:
    """`base` with what `fields` say instead. InvalidSetting names the place and what was expected."""
    changes: dict[str, Any] = {"name": name}
    if "rate" in fields and "delay" in fields:
        raise InvalidSetting(f"{place}: give delay or rate, not both", field=f"{place}.rate")
    for key, value in fields.items():
        reader = READERS.get(str(key))
        if reader is None:
            raise InvalidSetting(
                f"{place}: {UnknownName('policy key', str(key), READERS).message}", field=f"{place}.{key}"
            )
        try:
            target, read = reader(value)
        except (ValueError, TypeError) as error:
            raise InvalidSetting(f"{place}.{key}: {error}", field=f"{place}.{key}") from None
        changes[target] = read
    return replace(base, **changes)


def write_policy(policy: Policy) -> dict[str, Any]:
    """The fields that read_policy makes the same policy of, whatever its base."""
    fields: dict[str, Any] = {
        "delay": policy.delay,
        "burst": policy.burst,
        "concurrency": policy.concurrency,
        "robots": policy.robots,
        "crawl_delay_cap": policy.crawl_delay_cap,
        "halve_for": policy.halve_for,
        "hours": [write_window(window) for window in policy.hours],
        "time_zone": policy.time_zone,
        "user_agent": policy.user_agent,
    }
    if policy.hosts:
        fields = {"hosts": list(policy.hosts), "shared": policy.shared, **fields}
    return fields


def _duration(value: Any) -> float:
    """Seconds of 1.5, "500ms" or "2m"."""
    wrong = ValueError(f"{value!r} is not a time such as 1.5, '500ms' or '2m'")
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    else:
        match = DURATION.fullmatch(str(value).strip().lower())
        if match is None or match[2] not in UNITS:
            raise wrong
        seconds = float(match[1]) * UNITS[match[2]]
    if not seconds >= 0:
        raise wrong
    if seconds > LONGEST:
        raise ValueError(f"{value!r} is longer than a week")
    return seconds


def _rate(value: Any) -> float:
    """Seconds between requests at a rate such as "2/s" or "30/m"."""
    match = RATE.fullmatch(str(value).strip().lower())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"{value!r} is not a rate such as '2/s' or '30/m'")
    return _duration(UNITS[match[2]] / float(match[1]))


def _count(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 1_000_000:
            raise ValueError(f"{value!r} is not a whole number from {least} on")
        return value

    return read


def _one_of(*valid: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in valid:
            raise ValueError(UnknownName("value", str(value), valid).message)
        return str(value)

    return read


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


def _hosts(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise ValueError(f"{value!r} is not a list of host names")
    for name in names:
        if not isinstance(name, str) or not HOST.fullmatch(name):
            raise ValueError(f"{name!r} is not a host name in lower case such as 'shop.example' or 'shop.*'")
    return tuple(names)


def _windows(value: Any) -> tuple[Window, ...]:
    if value is None:
        return ()
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise ValueError(f"{value!r} is not a list of hours such as ['09:00-17:30']")
    return tuple(read_window(str(text)) for text in texts)


def _zone(value: Any) -> str:
    try:
        return ZoneInfo(str(value)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = UnknownName("time zone", str(value), available_timezones()).details["nearest"]
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no time zone {str(value)!r}{hint}") from None


def _agent(value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not value.isprintable() or not value.strip()):
        raise ValueError(f"{value!r} is not a user agent of printable characters")
    return value


def _into(field: str, read: Callable[[Any], Any]) -> Callable[[Any], tuple[str, Any]]:
    return lambda value: (field, read(value))


READERS: Final[dict[str, Callable[[Any], tuple[str, Any]]]] = {
    "hosts": _into("hosts", _hosts),
    "shared": _into("shared", _flag),
    "delay": _into("delay", _duration),
    "rate": _into("delay", _rate),
    "burst": _into("burst", _count(1)),
    "concurrency": _into("concurrency", _count(0)),
    "robots": _into("robots", _one_of("obey", "ignore")),
    "crawl_delay_cap": _into("crawl_delay_cap", _duration),
    "halve_for": _into("halve_for", _duration),
    "hours": _into("hours", _windows),
    "time_zone": _into("time_zone", _zone),
    "user_agent": _into("user_agent", _agent),
}
