"""Which addresses are part of the public internet: an own table, since the one in `ipaddress` changes
with the release of Python and calls multicast global."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

__all__ = ["Address", "parse", "why_not_global"]

Address = IPv4Address | IPv6Address

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
GLOBAL_V6: Final = IPv6Network("2000::/3")
NAT64: Final = IPv6Network("64:ff9b::/96")
V4_COMPATIBLE: Final = IPv6Network("::/96")
ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})  # the third quarter of the address; RFC 5214


def parse(text: str) -> Address | None:
    """The address that a text spells, with or without brackets; None when it is a name."""
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None


def inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for (mapped, NAT64, 6to4), else itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def why_not_global(address: Address) -> str | None:
    """What the address is when it is not part of the public internet; None when it is."""
    address = inner(address)
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
    return _why_not_tunnelled(address)


def _why_not_tunnelled(address: IPv6Address) -> str | None:
    """An ISATAP address leads on to the IPv4 address at its end, within its own site: both have to do."""
    if int(address) >> 32 & 0xFFFF_FFFF not in ISATAP:
        return None
    embedded = IPv4Address(int(address) & 0xFFFF_FFFF)
    reason = why_not_global(embedded)
    return f"an ISATAP address of {embedded}, which is {reason}" if reason else None
