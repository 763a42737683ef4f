"""Policies: which holds for a host, and the lane its requests wait in.

They come in layers, each a YAML text: the shipped file, then the operator's. A host is matched by the most
particular name: `shop.example` is for that host and all below it, `shop.*` for the name `shop` under any
ending (`shop.com`, `www.shop.co.uk`).
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final, Self

import yaml
from msgspec.structs import replace

from fyke.core.errors import InvalidSetting, UnknownName
from fyke.core.task import LaneSpec
from fyke.core.urls import host_of
from fyke.politeness.policy import Policy, read_policy, write_policy

__all__ = ["Policies", "shipped"]

CACHE: Final = 100_000
SECOND_LEVEL: Final = frozenset({"co", "com", "net", "org", "ac", "gov", "edu", "or", "ne"})
TOP_KEYS: Final = ("default", "policies")


def shipped() -> str:
    """The text of the file that comes with Fyke."""
    return files("fyke.politeness").joinpath("default.yaml").read_text("utf-8")


class Policies:
    """The policies of one deployment. Look-ups are cached by host; nothing in them changes."""

    def __init__(self, default: Policy, policies: Iterable[Policy] = ()) -> None:
        self.default = default
        self.policies = tuple(policies)
        self._by_host: dict[str, Policy] = {}
        for policy in self.policies:
            for host in policy.hosts:
                if host in self._by_host:
                    other = self._by_host[host].name
                    raise InvalidSetting(f"policies {other!r} and {policy.name!r} both claim {host!r}")
                self._by_host[host] = policy
        self._lanes: dict[str, LaneSpec] = {}

    @classmethod
    def load(cls, layers: Iterable[tuple[str, str]]) -> Self:
        """From YAML texts, each with a name for messages; later ones lie on top."""
        default: dict[str, Any] = {}
        named: dict[str, dict[str, Any]] = {}
        places: dict[str, str] = {}
        for place, text in layers:
            document = _mapping(_parse(text, place), place)
            for key in document:
                if key not in TOP_KEYS:
                    message = UnknownName("key", str(key), TOP_KEYS).message
                    raise InvalidSetting(f"{place}: {message}", field=str(key))
            if "default" in document:
                places[""] = f"{place}: default"
            _lay(default, _mapping(document.get("default"), f"{place}: default"))
            for name, fields in _mapping(document.get("policies"), f"{place}: policies").items():
                where = f"{place}: policies.{name}"
                _lay(named.setdefault(str(name), {}), _mapping(fields, where))
                places[str(name)] = where
        base = read_policy("default", default, Policy(), places.get("", "default"))
        policies = []
        for name, fields in named.items():
            fields.setdefault("hosts", [name])
            own = replace(base, hosts=(), shared=False)
            policies.append(read_policy(name, fields, own, places[name]))
        return cls(base, policies)

    @classmethod
    def with_file(cls, text: str | None = None, place: str = "policies file") -> Self:
        """The shipped policies, with an operator's text on top."""
        layers = [("shipped policies", shipped())]
        if text is not None:
            layers.append((place, text))
        return cls.load(layers)

    def dump(self) -> str:
        """YAML that loads to the same policies."""
        document = {
            "default": write_policy(self.default),
            "policies": {policy.name: write_policy(policy) for policy in self.policies},
        }
        return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)

    def overlaid(self, delay: float | None = None, concurrency: int | None = None) -> "Policies":
        """The same with another default for hosts that no policy names, as a command line asks for it."""
        fields: dict[str, Any] = {}
        if delay is not None:
            fields["delay"] = delay
        if concurrency is not None:
            fields["concurrency"] = concurrency
        if not fields:
            return self
        try:
            return Policies(read_policy("default", fields, self.default, "option"), self.policies)
        except InvalidSetting as error:
            raise InvalidSetting(error.message.replace("option.", "--", 1)) from None

    def policy_for(self, host: str) -> Policy:
        """The policy of a host (without port)."""
        labels = host.rstrip(".").split(".")
        for start in range(len(labels)):
            found = self._by_host.get(".".join(labels[start:]))
            if found is None and _is_ending(labels[start + 1 :]):
                found = self._by_host.get(f"{labels[start]}.*")
            if found is not None:
                return found
        return self.default

    def lane_for(self, url: str) -> LaneSpec:
        """The lane of a canonical URL: its host's, or the one that its policy's hosts share."""
        netloc = url.split("/", 3)[2]
        try:
            return self._lanes[netloc]
        except KeyError:
            pass
        host = host_of(url).rstrip(".")
        policy = self.policy_for(host)
        lane = policy.lane(policy.name if policy.shared else host)
        if len(self._lanes) >= CACHE:
            self._lanes.clear()
        self._lanes[netloc] = lane
        return lane

    def lane_named(self, key: str) -> LaneSpec:
        """The lane of that key, as it would be made now."""
        shared = next((p for p in self.policies if p.shared and p.name == key), None)
        return (shared or self.policy_for(key)).lane(key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Policies):
            return NotImplemented
        return self.default == other.default and self.policies == other.policies

    def __hash__(self) -> int:
        return hash((self.default, self.policies))


def _parse(text: str, place: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{place}, line {mark.line + 1}" if mark else place
        raise InvalidSetting(f"{where}: {error.problem or 'not YAML'}") from None
    except yaml.YAMLError as error:
        raise InvalidSetting(f"{place}: {' '.join(str(error).split())}") from None


def _mapping(value: Any, place: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidSetting(f"{place}: names and values are expected here, not {type(value).__name__}")
    return value


def _lay(below: dict[str, Any], above: Mapping[Any, Any]) -> None:
    """Lay fields on top. Delay and rate are two words for one thing: the newer one holds."""
    if "rate" in above:
        below.pop("delay", None)
    if "delay" in above:
        below.pop("rate", None)
    below.update({str(key): value for key, value in above.items()})


def _is_ending(labels: list[str]) -> bool:
    """Whether the labels after a name are what registries put there: one, or two such as `co.uk`."""
    if len(labels) == 2:
        return labels[0] in SECOND_LEVEL and len(labels[1]) == 2
    return len(labels) == 1
