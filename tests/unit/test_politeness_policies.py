"""Policies: layers, matching, lanes, messages."""

import pytest

from fyke.core.errors import InvalidSetting
from fyke.core.task import LaneSpec
from fyke.politeness.hours import Window
from fyke.politeness.policies import Policies, shipped
from fyke.politeness.policy import Policy


def load(text: str) -> Policies:
    return Policies.with_file(text, "mine.yaml")


def test_a_host_that_no_policy_names_is_treated_gently() -> None:
    policy = Policies.with_file().policy_for("shop.example")
    assert policy == Policy(name="default", delay=1, concurrency=1, robots="obey")
    assert Policies.with_file().lane_for("https://shop.example/a") == LaneSpec(
        "shop.example", 1_000_000, 1, 1
    )


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("linkedin.com", "linkedin.com"),
        ("de.linkedin.com", "linkedin.com"),
        ("www.linkedin.com.", "linkedin.com"),
        ("indeed.com", "indeed.com"),
        ("amazon.com", "amazon.*"),
        ("amazon.de", "amazon.*"),
        ("www.amazon.co.uk", "amazon.*"),
        ("smile.amazon.com.au", "amazon.*"),
        ("notlinkedin.com", "default"),
        ("linkedin.com.example", "default"),
        ("amazon", "default"),
        ("amazon.evil.example", "default"),
        ("myamazon.com", "default"),
        ("127.0.0.1", "default"),
        ("[::1]", "default"),
        ("", "default"),
    ],
)
def test_which_policy_is_for_a_host(host: str, name: str) -> None:
    assert Policies.with_file().policy_for(host).name == name


def test_the_most_particular_name_wins() -> None:
    policies = load(
        "policies: {example.com: {delay: 2}, slow.example.com: {delay: 9}, example.*: {rate: 1/m}}"
    )
    assert policies.policy_for("slow.example.com").delay == 9
    assert policies.policy_for("a.slow.example.com").delay == 9
    assert policies.policy_for("fast.example.com").delay == 2
    assert policies.policy_for("example.org").delay == 60


def test_a_lane_is_a_host_or_what_shares_its_limit() -> None:
    policies = load("policies: {shops: {hosts: [a.test, b.test], rate: 2/s, burst: 5, shared: true}}")
    lane = LaneSpec("shops", 500_000, 5, 1)
    assert policies.lane_for("http://a.test/") == lane
    assert policies.lane_for("https://x.b.test:8443/?q=1") == lane
    assert policies.lane_for("https://www.amazon.de/x") == policies.lane_for("https://amazon.com/x")
    assert policies.lane_for("http://c.test:8080/x").key == "c.test"
    assert policies.lane_for("http://c.test/x").key == "c.test"
    assert policies.lane_for("http://[::1]:8080/").key == "[::1]"
    assert policies.lane_for("http://127.0.0.1:5/").key == "127.0.0.1"


def test_no_delay_is_no_limit() -> None:
    policies = load("default: {delay: 0, concurrency: 0}")
    assert policies.lane_for("http://a.test/") == LaneSpec("a.test", 0, 1, 0)


def test_an_operators_file_lies_on_top_key_by_key() -> None:
    policies = load(
        "default: {concurrency: 3}\npolicies: {linkedin.com: {delay: 9}, new.test: {robots: ignore}}"
    )
    assert policies.default.concurrency == 3
    assert policies.default.delay == 1
    linkedin = policies.policy_for("linkedin.com")
    assert (linkedin.delay, linkedin.shared, linkedin.concurrency) == (9, True, 3)
    assert policies.policy_for("new.test").concurrency == 3
    assert policies.policy_for("new.test").robots == "ignore"
    assert policies.policy_for("indeed.com").name == "indeed.com"


def test_delay_and_rate_replace_each_other_between_layers() -> None:
    layers = [("a", "default: {delay: 5}"), ("b", "default: {rate: 4/s}")]
    assert Policies.load(layers).default.delay == 0.25
    assert Policies.load(reversed(layers)).default.delay == 5


def test_a_command_line_replaces_the_default_and_nothing_else() -> None:
    policies = Policies.with_file().overlaid(delay=0, concurrency=8)
    assert policies.lane_for("http://shop.test/") == LaneSpec("shop.test", 0, 1, 8)
    assert policies.policy_for("linkedin.com") == Policies.with_file().policy_for("linkedin.com")
    assert Policies.with_file().overlaid() == Policies.with_file()
    with pytest.raises(InvalidSetting, match="--concurrency"):
        Policies.with_file().overlaid(concurrency=-1)


def test_writing_and_loading_gives_the_same() -> None:
    policies = load(
        "default: {rate: 30/m, user_agent: 'Me/1'}\n"
        "policies:\n  a.test: {hours: ['mon-fri 09:00-17:30', '22:00-24:00'], time_zone: Europe/Berlin}\n"
    )
    again = Policies.load([("written", policies.dump())])
    assert again == policies
    assert hash(again) == hash(policies)
    assert again.dump() == policies.dump()
    assert again.policy_for("a.test").hours == (Window(540, 1050, (0, 1, 2, 3, 4)), Window(1320, 1440))
    assert Policies.load([("shipped", shipped())]) == Policies.with_file()
    assert policies != "something else"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policys: {}", "mine.yaml: unknown key 'policys': did you mean 'policies'"),
        ("default: {dely: 2}", "default: unknown policy key 'dely': did you mean 'delay'"),
        ("policies: {a.test: {robots: obay}}", "mine.yaml: policies.a.test.robots: .*did you mean 'obey'"),
        ("policies: {a.test: {delay: soon}}", "policies.a.test.delay: 'soon' is not a time"),
        ("default: {delay: -1}", "'-1' is not a time|-1 is not a time"),
        ("default: {delay: true}", "True is not a time"),
        ("default: {delay: 9d}", "longer than a week"),
        ("default: {rate: 0/s}", "is not a rate"),
        ("default: {rate: 5}", "is not a rate"),
        ("default: {rate: 5/s, delay: 1}", "delay or rate, not both"),
        ("default: {concurrency: 1.5}", "concurrency: 1.5 is not a whole number from 0 on"),
        ("default: {concurrency: -1}", "whole number"),
        ("default: {burst: 0}", "whole number from 1 on"),
        ("default: {time_zone: Europe/Berln}", "did you mean 'Europe/Berlin'"),
        ("default: {hours: ['25:00-26:00']}", "is no time of day"),
        ("default: {hours: ['09:00-09:00']}", "empty time"),
        ("default: {hours: ['foo 09:00-10:00']}", "'foo' is not a day; days are mon"),
        ("default: {hours: ['all day']}", "is not of the form"),
        ("default: {hours: 7}", "is not a list of hours"),
        ("default: {user_agent: 7}", "is not a user agent"),
        ('default: {user_agent: "a\\nb"}', "is not a user agent"),
        ("policies: {a: {shared: 1}}", "is not true or false"),
        ("policies: {a: {hosts: []}}", "is not a list of host names"),
        ("policies: {a: {hosts: ['http://x/']}}", "is not a host name"),
        ("policies: {A.test: {}}", "is not a host name in lower case"),
        ("policies: {a: {hosts: [x.test]}, b: {hosts: [x.test]}}", "'a' and 'b' both claim 'x.test'"),
        ("policies: [a]", "mine.yaml: policies: names and values are expected here, not list"),
        ("policies: {a: 5}", "mine.yaml: policies.a: names and values are expected here, not int"),
        ("just text", "mine.yaml: names and values are expected here, not str"),
        ("default: {a: [}", "mine.yaml, line 1"),
        ("default: !!python/object:os.system x", "mine.yaml, line 1"),
        ("default: \x00", "mine.yaml"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        load(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2s", 2), ("1.5", 1.5), ("2 m", 120), ("1min", 60), ("1h", 3600), ("0", 0)],
)
def test_times_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert load(f"default: {{delay: {text}}}").default.delay == seconds


def test_many_hosts_do_not_fill_the_memory() -> None:
    policies = Policies.with_file()
    for number in range(100_100):
        policies.lane_for(f"http://h{number}.test/")
    assert len(policies._lanes) <= 100_000


def test_a_lane_is_found_by_its_key_as_it_was_by_its_url() -> None:
    policies = Policies.with_file()
    for url in (
        "https://shop.example/a",
        "https://www.amazon.de/x",
        "https://de.linkedin.com/",
        "http://127.0.0.1:81/",
    ):
        lane = policies.lane_for(url)
        assert policies.lane_named(lane.key) == lane
