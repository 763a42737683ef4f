"""Which addresses are part of the public internet: an own table, since the one in `ipaddress` changes
with the release of Python and calls multicast global."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

__all__ = ["Address", "Network", "nearest", "parse", "parts", "stands_for_v4", "why_not_global"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# IANA's special-purpose registries, as far as they are not "globally reachable".
REFUSED_V4: Final = tuple(
    (IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "the unspecified network"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a carrier's shared network"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relays"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
REFUSED_V6: Final = tuple(
    (IPv6Network(network), name)
    for network, name in (
        ("::/128", "the unspecified address"),
        ("::1/128", "loopback"),
        ("64:ff9b:1::/48", "local NAT64"),
        ("2001::/23", "protocol assignments and Teredo"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
# What stands nearest to this machine: its own addresses, and where clouds keep their metadata.
NEAREST: Final[tuple[Network, ...]] = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),
    IPv6Network("::/128"),
    IPv6Network("::1/128"),
    IPv6Network("fe80::/10"),
)
GLOBAL_V6: Final = IPv6Network("2000::/3")
NAT64: Final = IPv6Network("64:ff9b::/96")
LOCAL_NAT64: Final = IPv6Network("64:ff9b:1::/48")
V4_COMPATIBLE: Final = IPv6Network("::/96")
V4_TRANSLATED: Final = IPv6Network("::ffff:0:0:0/96")  # RFC 2765
# An address of these is an IPv4 address and nothing else.
STANDING_FOR_V4: Final = (IPv6Network("::ffff:0:0/96"), NAT64, IPv6Network("2002::/16"))
ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})  # the third quarter of the address; RFC 5214


def parse(text: str) -> Address | None:
    """The address that a text spells, with or without brackets; None when it is a name."""
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def parts(address: Address) -> tuple[Address, ...]:
    """What a connection to the address may reach; each of them is judged by itself. An IPv6 address may stand
    for an IPv4 one (mapped, NAT64, 6to4), or lead on to one within a network of its own."""
    if isinstance(address, IPv4Address):
        return (address,)
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None or address in NAT64:
        return (last,)
    compatible = address in V4_COMPATIBLE and int(address) > 1
    isatap = int(address) >> 32 & 0xFFFF_FFFF in ISATAP
    leads_on = compatible or isatap or address in LOCAL_NAT64 or address in V4_TRANSLATED
    return (address.sixtofour or address, *(address.teredo or ()), *((last,) if leads_on else ()))


def why_not_global(address: Address) -> str | None:
    """What the address itself is when it is not part of the public internet; None when it is."""
    if isinstance(address, IPv4Address):
        return next((name for network, name in REFUSED_V4 if address in network), None)
    if address.scope_id is not None:
        return "an address with a zone id"
    for network, name in REFUSED_V6:
        if address in network:
            return name
    if address in V4_COMPATIBLE:
        return "an IPv4-compatible address, long given up"
    if address not in GLOBAL_V6:
        return "outside the global unicast range"
    return None


def stands_for_v4(network: Network) -> bool:
    """Whether all of the network's addresses are judged as IPv4 addresses, and never as its own."""
    return isinstance(network, IPv6Network) and any(network.subnet_of(outer) for outer in STANDING_FOR_V4)


def nearest(address: Address) -> Network | None:
    """The network around this machine that the address lies in."""
    return next((n for n in NEAREST if n.version == address.version and address in n), None)
