"""The guard's judgement of URLs and addresses, as far as no network is needed."""

import pytest

from fyke.core.errors import InvalidSetting, InvalidUrl
from fyke.core.urls import canonical
from fyke.egress.guard import Guard


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://0177.0.0.01/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127.0.0.1./",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://api.localhost/",
        "http://0/",
        "http://0.0.0.0:8080/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://172.31.255.255/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.100.100.200/",
        "http://192.0.0.170/",
        "http://192.0.2.1/",
        "http://192.88.99.1/",
        "http://198.18.0.1/",
        "http://203.0.113.9/",
        "http://224.0.0.251/",
        "http://255.255.255.255/",
        "http://[::]/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::10.0.0.1]/",
        "http://[64:ff9b:1::1]/",
        "http://[2002:7f00:1::]/",
        "http://[2002:a00:1::1]/",
        "http://[2001::1]/",
        "http://[2001:db8::1]/",
        "http://[3fff::1]/",
        "http://[fc00::1]/",
        "http://[fd12:3456::1]/",
        "http://[fe80::1]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://[4000::1]/",
        "http://[100::1]/",
        "http://[2606:4700::5efe:7f00:1]/",
        "http://[2606:4700::200:5efe:10.0.0.1]/",
        "http://[fe80::5efe:8.8.8.8]/",
        "http://[fd00::5efe:8.8.8.8]/",
        "http://8.8.8.8:0/",
        "http://example.com:00/",
        "http:\\\\127.0.0.1\\path",
        "http:/\\127.0.0.1",
        "http://example.com@127.0.0.1/",
        "http://127.0.0.1#@example.com/",
        "http://127.0.0.1?@example.com/",
        "http://\t127.0.0.1/",
        "http://1\n27.0.0.1/",
        "http://user@example.com/",
        "http://user:password@example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "data:text/html,x",
        "ws://example.com/",
    ],
)
def test_what_is_not_the_public_web_is_refused(url: str) -> None:
    verdict = Guard().check_url(url)
    assert not verdict.allowed
    assert verdict.url == url
    assert len(verdict.reason) > 5


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "http://[fe80::1%25eth0]/", "http://a b/", "//example.com/"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    admission = Guard().admit(url)
    assert admission.refusal
    assert not admission.readable


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://example.com:8443/a?b=c#d",
        "http://8.8.8.8/",
        "http://172.32.0.1/",
        "http://11.0.0.1/",
        "http://[2606:4700:4700::1111]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[64:ff9b::8.8.8.8]/",
        "http://[2606:4700::5efe:8.8.8.8]/",
        "http://[2606:4700::1:5efe:127.0.0.1]/",
        "http://localhost.example.com/",
        "http://10.example.com/",
        "HTTP://EXAMPLE.COM",
    ],
)
def test_the_public_web_is_allowed(url: str) -> None:
    verdict = Guard().check_url(url)
    assert verdict.allowed, verdict.reason


@pytest.mark.parametrize("url", ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]:80/x", "//[fe80::1%1]/"])
def test_a_zone_id_has_a_reason_of_its_own(url: str) -> None:
    assert "zone id" in (Guard().admit(url).refusal or "")
    with pytest.raises(InvalidUrl, match="zone id"):
        canonical(url)
    assert Guard().admit("http://[nonsense%]/").refusal == "not a URL"


def test_reasons_name_what_is_refused() -> None:
    guard = Guard()
    assert "port 0" in (guard.admit("http://8.8.8.8:0/").refusal or "")
    refusal = guard.admit("http://[2606:4700::5efe:7f00:1]/").refusal or ""
    assert "an IPv6 address for 127.0.0.1, which is loopback" in refusal
    refusal = Guard(["0.0.0.0/0"]).admit("http://127.0.0.1/").refusal or ""
    assert refusal.endswith("loopback; only an entry for 127.0.0.0/8 or a part of it opens that")


def test_what_is_fetched_is_what_was_judged() -> None:
    admission = Guard().admit("HTTP:\\\\EXAMPLE.com:80\\a\\..\\b")
    assert admission.href == "http://example.com/b"
    assert admission.host == "example.com"


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("127.0.0.0/8", "http://127.1.2.3/"),
        ("127.0.0.1", "http://127.0.0.1:9000/"),
        ("127.0.0.0/8", "http://[::ffff:127.0.0.1]/"),
        ("10.0.0.0/8", "http://[64:ff9b::10.0.0.1]/"),
        ("::1", "http://[::1]/"),
        ("[::1]", "http://[::1]/"),
        ("fd00::/8", "http://[fd00::5]/"),
        ("127.0.0.0/8", "http://localhost/"),
        ("localhost", "http://localhost:3000/"),
        ("LOCALHOST", "http://localhost/"),
        ("10.0.0.5/8", "http://10.9.9.9/"),
        ("0.0.0.0/0", "http://10.9.9.9/"),
        ("::/0", "http://[fd00::5]/"),
        ("169.254.0.0/16", "http://169.254.169.254/"),
        ("169.254.169.254", "http://[64:ff9b::169.254.169.254]/"),
        ("fe80::/10", "http://[fe80::1]/"),
        ("127.0.0.1", "http://[2606:4700::5efe:7f00:1]/"),
    ],
)
def test_the_allow_list_lets_through_what_it_names(allow: str, url: str) -> None:
    assert Guard([allow]).check_url(url).allowed
    assert not Guard(["192.168.77.0/24"]).check_url(url).allowed


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("0.0.0.0/0", "http://127.0.0.1/"),
        ("0.0.0.0/0", "http://localhost/"),
        ("0.0.0.0/0", "http://0.0.0.0/"),
        ("0.0.0.0/0", "http://169.254.169.254/"),
        ("126.0.0.0/7", "http://127.0.0.1/"),
        ("::/0", "http://[::]/"),
        ("::/0", "http://[::1]/"),
        ("::/127", "http://[::1]/"),
        ("fe00::/7", "http://[fe80::1]/"),
    ],
)
def test_what_is_nearest_has_to_be_meant(allow: str, url: str) -> None:
    assert not Guard([allow]).check_url(url).allowed


@pytest.mark.parametrize("allow", ["::/0", "::/96", "64:ff9b::/32", "2002::/15", "2001::/32", "fd00::/8"])
@pytest.mark.parametrize(
    "url",
    [
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[64:ff9b:1::10.0.0.1]/",
        "http://[2002:7f00:1::]/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[2001:0:808:808::80ff:fffe]/",
        "http://[fd00::5efe:127.0.0.1]/",
    ],
)
def test_a_network_of_ipv6_opens_no_ipv4_address(allow: str, url: str) -> None:
    assert not Guard([allow]).check_url(url).allowed


def test_an_address_with_two_halves_needs_an_entry_for_each() -> None:
    for url, outer in (
        ("http://[fd00::5efe:10.0.0.1]/", "fd00::/8"),
        ("http://[::10.0.0.1]/", "::/96"),
        ("http://[::ffff:0:10.0.0.1]/", "::/0"),
    ):
        assert not Guard(["10.0.0.0/8"]).check_url(url).allowed
        assert not Guard([outer]).check_url(url).allowed
        assert Guard(["10.0.0.0/8", outer]).check_url(url).allowed


def test_an_allowed_host_is_allowed_whatever_its_address() -> None:
    guard = Guard(["inner.test"])
    assert guard.refuse_address("10.0.0.1", "inner.test") is None
    assert guard.refuse_address("10.0.0.1", "other.test") is not None
    assert guard.refuse_address("10.0.0.1") is not None


def test_an_address_is_judged_with_its_zone() -> None:
    for address in ("fe80::1%eth0", "2606:4700::1%eth0", "not an address"):
        assert Guard().refuse_address(address) is not None
    assert Guard().refuse_address("8.8.4.4") is None


@pytest.mark.parametrize(
    "entry",
    [
        *("", "10.0.0.0/33", "http://x/", "a b", "host:80", "user@host", "host/path", "/"),
        *("*", "*.example.com", ".example.com", "a..test", ".", "fe80::1%eth0", "a%62.test", "a,b"),
    ],
)
def test_an_entry_of_the_allow_list_that_means_nothing_is_refused(entry: str) -> None:
    with pytest.raises(InvalidSetting, match="is neither a network"):
        Guard([entry])


@pytest.mark.parametrize(
    "entry", ["::ffff:127.0.0.1", "[::ffff:7f00:1]", "::ffff:0:0/96", "64:ff9b::/96", "2002:7f00:1::/48"]
)
def test_an_entry_that_only_stands_for_ipv4_is_refused(entry: str) -> None:
    with pytest.raises(InvalidSetting, match="name the IPv4 address") as refused:
        Guard([entry])
    assert repr(entry) in refused.value.message


def test_many_hosts_do_not_fill_the_memory() -> None:
    guard = Guard()
    for number in range(25_000):
        assert guard.admit(f"http://h{number}.test/").refusal is None
        assert guard.refuse_address(f"8.{number >> 16}.{number >> 8 & 255}.{number & 255}") is None
    assert len(guard._literals) <= 10_000
    assert len(guard._addresses) <= 10_000
