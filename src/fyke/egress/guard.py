"""The egress guard: nothing fetched on anyone's behalf reaches an address that is not global, unless
the operator allows it.

A URL is judged twice: as it is written (scheme, user name, literal addresses in whatever spelling), and
by the address that its connection is really made to, at the moment of connecting and whatever the
resolver had said before. The second is what makes it tight; the first gives the better reason.
"""

import re
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_network
from socket import SOCK_STREAM, gaierror

import can_ada
from msgspec import Struct

from fyke.core.errors import InvalidSetting
from fyke.core.secrets import hide_login
from fyke.core.urls import why_unreadable
from fyke.egress.addresses import Address, Network, nearest, parse, parts, stands_for_v4, why_not_global

__all__ = ["Admission", "Guard", "Resolver", "Verdict", "how_to_allow", "system_resolver"]

Resolver = Callable[[str], Awaitable[Sequence[str]]]

MAX_URL = 8192
CACHE = 10_000
NOT_PUBLIC = ", which is "
HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")


class Verdict(Struct, frozen=True):
    """Whether `url` (or an address, where one was asked about) may be connected to, and why not."""

    url: str
    allowed: bool
    reason: str
    addresses: tuple[str, ...] = ()


class Admission(Struct, frozen=True, gc=False):
    """A URL as the guard has read it: what is fetched is `href`, so that no second reading of the
    original text can differ. `refusal` is None when it may be tried; `readable` is False for what is no
    URL at all."""

    href: str
    host: str
    refusal: str | None = None
    readable: bool = True


def how_to_allow(reason: str) -> str:
    """What an operator can do about a refusal; nothing, where it is not for the address."""
    return "; FYKE_EGRESS_ALLOW can let it through" if NOT_PUBLIC in reason else ""


async def system_resolver(host: str) -> Sequence[str]:
    """All addresses of a name, by the system's resolver."""
    found = await get_running_loop().getaddrinfo(host, None, type=SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Judges URLs and addresses. `allow` names what is let through besides the public internet:
    networks (10.1.0.0/16), addresses and host names. Loopback and link-local need an entry that names
    nothing beyond them, an IPv4 address within an IPv6 one needs one for itself. `resolver` replaces the
    system's."""

    def __init__(self, allow: Sequence[str] = (), resolver: Resolver | None = None) -> None:
        self.resolver = resolver
        networks, hosts = _read_allow_list(allow)
        self._networks = networks
        self._hosts = hosts
        self._addresses: dict[str, str | None] = {}
        self._literals: dict[str, str | None] = {}

    def admit(self, url: str) -> Admission:
        """Judge the URL as written; no look-up."""
        if len(url) > MAX_URL:
            return Admission(url[:100], "", f"the URL is longer than {MAX_URL} characters", False)
        try:
            parsed = can_ada.parse(url)
        except ValueError:
            return Admission(url, "", why_unreadable(url), False)
        if parsed.protocol not in ("http:", "https:"):
            return Admission(url, "", f"scheme {parsed.protocol[:-1]!r} is not http or https")
        host = parsed.hostname
        if parsed.has_credentials():
            return Admission(url, host, "the URL carries a user name or password")
        if parsed.port == "0":
            return Admission(url, host, "port 0 is none that can be connected to")
        try:
            refusal = self._literals[host]
        except KeyError:
            refusal = self._judge_host(host)
        return Admission(parsed.href, host, refusal)

    def check_url(self, url: str) -> Verdict:
        """Judge the URL as written; no look-up."""
        refusal = self.admit(url).refusal
        return Verdict(url, refusal is None, refusal or "allowed")

    def refuse_address(self, ip: str, host: str = "") -> str | None:
        """Why no connection may be made to the address on behalf of `host`; None when it may."""
        if host in self._hosts:
            return None
        try:
            return self._addresses[ip]
        except KeyError:
            pass
        address = parse(ip)
        refusal = f"{ip} is not an address" if address is None else self._judge(address)
        if len(self._addresses) >= CACHE:
            self._addresses.clear()
        self._addresses[ip] = refusal
        return refusal

    async def explain(self, url: str) -> Verdict:
        """Judge the URL, and every address that its name has just now. As when it is fetched, one that may be
        connected to will do: the others are passed over."""
        admission = self.admit(url)
        if admission.refusal is not None:
            return Verdict(url, False, admission.refusal)
        host = admission.host
        if parse(host) is not None:
            return Verdict(url, True, "allowed", (host.strip("[]"),))
        try:
            addresses = tuple(await (self.resolver or system_resolver)(host))
        except (gaierror, OSError, UnicodeError):
            addresses = ()
        if not addresses:
            return Verdict(url, True, f"allowed, but {host} has no address just now")
        refused = [refusal for ip in addresses if (refusal := self.refuse_address(ip, host)) is not None]
        if len(refused) == len(addresses):
            return Verdict(url, False, f"{host} has the address {refused[0]}", addresses)
        never = "; ".join(f"never at {refusal}" for refusal in refused)
        return Verdict(url, True, f"allowed, but {never}" if never else "allowed", addresses)

    def _judge_host(self, host: str) -> str | None:
        """Judge a host as written, and remember it."""
        name = host.rstrip(".")
        refusal: str | None = None
        if name not in self._hosts and host not in self._hosts:
            address = parse(host)
            if address is None and (name == "localhost" or name.endswith(".localhost")):
                address = parse("127.0.0.1")
            if address is not None:
                refusal = self._judge(address)
        if len(self._literals) >= CACHE:
            self._literals.clear()
        self._literals[host] = refusal
        return refusal

    def _judge(self, address: Address) -> str | None:
        for part in parts(address):
            reason = self._why_refused(part)
            if reason is not None:
                form = "" if part == address else f"{NOT_PUBLIC}an IPv6 address for {part}"
                return f"{address}{form}{NOT_PUBLIC}{reason}"
        return None

    def _why_refused(self, address: Address) -> str | None:
        """What the address is, unless it is public or an entry lets it through. What is nearest to this
        machine has to be meant: a larger network does not open it."""
        reason = why_not_global(address)
        if reason is None:
            return None
        named = [n for n in self._networks if n.version == address.version and address in n]
        around = nearest(address)
        if around is None:
            return None if named else reason
        if any(n.prefixlen >= around.prefixlen for n in named):
            return None
        return f"{reason}; only an entry for {around} or a part of it opens that" if named else reason


def _read_allow_list(allow: Sequence[str]) -> tuple[tuple[Network, ...], frozenset[str]]:
    networks: list[Network] = []
    hosts: set[str] = set()
    for entry in allow:
        text = entry.strip()
        network = _network(text)
        if network is None:
            hosts.add(_host(text))
        elif stands_for_v4(network):
            raise InvalidSetting(
                f"{entry!r} would let nothing through: name the IPv4 address that it stands for",
                field="egress_allow",
            )
        else:
            networks.append(network)
    return tuple(networks), frozenset(hosts)


def _network(text: str) -> Network | None:
    try:
        return None if "%" in text else ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return None


def _host(text: str) -> str:
    """The host that an entry names, as a URL has it; a pattern names none."""
    try:
        parsed = None if set(text) & set("/:?#%@\\") else can_ada.parse(f"http://{text}/")
    except ValueError:
        parsed = None
    if parsed is None or not HOST.fullmatch(parsed.hostname):
        raise InvalidSetting(
            f"{hide_login(text)!r} is neither a network such as 10.1.0.0/16, nor an address, nor a host name",
            field="egress_allow",
        )
    return str(parsed.hostname)
