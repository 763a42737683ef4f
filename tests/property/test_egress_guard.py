"""The guard, over all addresses and their spellings."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.core.errors import InvalidSetting
from fyke.egress.guard import Guard

relaxed = settings(deadline=None)  # a loaded machine is no fault

PRIVATE = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
]
STANDING_FOR_V4 = ["::ffff:0:0/96", "64:ff9b::/96", "2002::/16"]
NEAR = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "::/128", "::1/128", "fe80::/10"]


@st.composite
def inner_v4(draw: st.DrawFn) -> IPv4Address:
    network = ip_network(draw(st.sampled_from(PRIVATE)))
    return IPv4Address(int(network.network_address) + draw(st.integers(0, network.num_addresses - 1)))


def number(value: int, base: str) -> str:
    return {"d": str(value), "o": f"0{value:o}" if value else "0", "x": f"{value:#x}", "X": f"0X{value:X}"}[
        base
    ]


@st.composite
def spelled(draw: st.DrawFn, address: st.SearchStrategy[IPv4Address]) -> str:
    """An IPv4 address in any form that a browser takes: 1 to 4 numbers, each in its own base."""
    octets = list(draw(address).packed)
    parts = draw(st.integers(1, 4))
    numbers = [*octets[: parts - 1], int.from_bytes(octets[parts - 1 :], "big")]
    host = ".".join(number(value, draw(st.sampled_from("doxX"))) for value in numbers)
    if draw(st.booleans()):
        host = host.translate({ord(digit): chr(0xFF10 + int(digit)) for digit in "0123456789"})
    return host + draw(st.sampled_from(["", "."]))


@st.composite
def around(draw: st.DrawFn, host: st.SearchStrategy[str]) -> str:
    """A URL around a host, with what parsers have been led astray by."""
    start = draw(st.sampled_from(["http://", "https:", "HTTP:\\\\", "http:/", "ht\ntp://", " http://"]))
    user = draw(st.sampled_from(["", "", "a@", "example.com@", "a:b@", "@"]))
    end = draw(
        st.sampled_from(["", "/", ":80", ":8080/x", "/@example.com", "?example.com", "#.example.com", "\\x"])
    )
    return start + user + draw(host) + end


def in_v6(address: IPv4Address) -> list[IPv6Address]:
    value = int(address)
    return [
        IPv6Address(0xFFFF << 32 | value),
        IPv6Address(0x64FF9B << 96 | value),
        IPv6Address(0x2002 << 112 | value << 80 | 1),
    ]


@relaxed
@given(around(spelled(inner_v4())))
def test_no_spelling_of_an_inner_address_gets_through(url: str) -> None:
    assert not Guard().check_url(url).allowed


@relaxed
@given(inner_v4())
def test_nor_does_an_ipv6_address_that_stands_for_it(address: IPv4Address) -> None:
    guard = Guard()
    for outer in in_v6(address):
        assert guard.refuse_address(str(outer)) is not None
        assert not guard.check_url(f"http://[{outer}]/").allowed
        assert not guard.check_url(f"http://[{outer.exploded}]:8080/").allowed


@relaxed
@given(st.ip_addresses())
def test_what_is_let_through_is_global(address: IPv4Address | IPv6Address) -> None:
    """Python's own judgement, where it says no, is never overruled."""
    if Guard().refuse_address(str(address)) is None:
        if address in ip_network("64:ff9b::/96"):
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
        assert inner.is_global
        odd = inner.is_multicast or inner.is_reserved or inner.is_loopback or inner.is_link_local
        assert not odd


@relaxed
@given(st.ip_addresses(), st.integers(0, 32))
def test_an_allowed_network_lets_through_its_own_and_nothing_more(
    address: IPv4Address | IPv6Address, wider: int
) -> None:
    network = ip_network((address, address.max_prefixlen - wider), strict=False)
    if names_nothing(network):
        return
    guard = Guard([str(network)])
    if not near(address) and not leads_on(address):
        assert guard.refuse_address(str(address)) is None
    outside = int(network.network_address) ^ 1 << wider
    if outside < 1 << address.max_prefixlen:
        neighbour = str(ip_address(outside) if address.version == 4 else IPv6Address(outside))
        assert guard.refuse_address(neighbour) == Guard().refuse_address(neighbour)


def near(address: IPv4Address | IPv6Address) -> str | None:
    """The network around this machine that the address lies in."""
    return next((n for n in NEAR if address in ip_network(n)), None)


def leads_on(address: IPv4Address | IPv6Address) -> bool:
    """Whether there is, or may be, an IPv4 address in it."""
    isatap = int(address) >> 32 & 0xFFFF_FFFF in (0x5EFE, 0x0200_5EFE)
    holding = ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2001::/32", *STANDING_FOR_V4)
    return address.version == 6 and (isatap or any(address in ip_network(n) for n in holding))


def names_nothing(entry: IPv4Network | IPv6Network) -> bool:
    """Whether an entry lets nothing through, since it stands for IPv4 addresses alone."""
    return isinstance(entry, IPv6Network) and any(entry.subnet_of(IPv6Network(n)) for n in STANDING_FOR_V4)


@relaxed
@given(st.sampled_from(NEAR).flatmap(lambda network: st.ip_addresses(network=network)), st.integers(0, 128))
def test_what_is_nearest_is_opened_by_what_lies_within_it_alone(
    address: IPv4Address | IPv6Address, prefix: int
) -> None:
    entry = ip_network((address, min(prefix, address.max_prefixlen)), strict=False)
    around = ip_network(near(address) or "")
    if not leads_on(address) or int(address) <= 1:
        refusal = Guard([str(entry)]).refuse_address(str(address))
        assert (refusal is None) == (entry.prefixlen >= around.prefixlen)


@relaxed
@given(inner_v4(), st.integers(0, 128))
def test_an_ipv4_address_in_an_ipv6_one_is_opened_by_its_own_entry(address: IPv4Address, prefix: int) -> None:
    for outer in in_v6(address):
        entry = ip_network((outer, prefix), strict=False)
        if names_nothing(entry):
            with pytest.raises(InvalidSetting):
                Guard([str(entry)])
        else:
            assert Guard([str(entry)]).refuse_address(str(outer)) is not None
        assert Guard([str(address)]).refuse_address(str(outer)) is None


@relaxed
@given(st.text(max_size=60) | around(st.text(max_size=20)))
def test_any_text_gets_a_verdict_with_a_reason(text: str) -> None:
    admission = Guard().admit(text)
    if admission.refusal is None:
        assert admission.href.startswith(("http://", "https://"))
        assert admission.host
        assert Guard().admit(admission.href) == admission
    else:
        assert admission.refusal.strip()
