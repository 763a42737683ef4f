"""Failures in groups: by class and host, the most frequent first, a few at a time."""

from fyke.store.conn import Conn, Row
from fyke.store.results import FailureGroup, group_failures
from tests.contract.rig import Rig

JOB = 77
COLUMNS = ("job", "seq", "task", "state", "url", "fetched_at", "error_class", "error_message", "http_status")


async def put(rig: Rig, failures: list[tuple[str, str | None]]) -> None:
    """Pages with these URLs and error classes, in this order."""
    rows: list[Row] = [
        (JOB, seq, seq, "failed", url, 0, error_class, f"no {seq}", 500)
        for seq, (url, error_class) in enumerate(failures)
    ]

    async def work(conn: Conn) -> None:
        await conn.insert("pages", COLUMNS, rows)
        await conn.insert("pages", COLUMNS, [(JOB + 1, *rows[0][1:])])

    await rig.database.write(work)


async def groups(rig: Rig, after: int = 0, limit: int = 100) -> list[FailureGroup]:
    return await rig.database.read(lambda conn: group_failures(conn, JOB, after, limit, 2))


async def test_groups_are_counted_and_ordered(rig: Rig) -> None:
    await put(
        rig,
        [
            ("https://b.test/", "dns"),
            ("https://a.test/1", "http_5xx"),
            ("https://a.test/2", None),
            ("https://a.test/3", "http_5xx"),
            ("https://a.test/4?x=http://c.test/", "http_5xx"),
            ("https://a.test/5", "timeout"),
        ],
    )
    most, *others = await groups(rig)
    assert (most.error_class, most.host, most.count) == ("http_5xx", "a.test", 3)
    assert [(page.seq, page.url, page.error_message, page.http_status) for page in most.first] == [
        (1, "https://a.test/1", "no 1", 500),
        (3, "https://a.test/3", "no 3", 500),
    ]
    assert [(group.error_class, group.host, group.count) for group in others] == [
        ("dns", "b.test", 1),
        ("timeout", "a.test", 1),
    ]


async def test_a_host_is_one_at_all_its_ports(rig: Rig) -> None:
    await put(
        rig,
        [
            ("http://a.test:8080/1", "dns"),
            ("https://a.test/2", "dns"),
            ("http://127.0.0.1:81/", "connect"),
            ("http://[::1]:81/", "tls"),
            ("http://timeout.test/%C3%BC:/", "timeout"),
        ],
    )
    assert [(group.host, group.count) for group in await groups(rig)] == [
        ("a.test", 2),
        ("127.0.0.1", 1),
        ("timeout.test", 1),
        ("[::1]", 1),
    ]


async def test_some_at_a_time(rig: Rig) -> None:
    await put(rig, [(f"https://h{n % 10}.test/{n}", "dns") for n in range(25)])
    whole = await groups(rig)
    assert sum(group.count for group in whole) == 25
    assert [len(group.first) for group in whole] == [2] * 10
    assert [*await groups(rig, 0, 4), *await groups(rig, 4, 4), *await groups(rig, 8, 4)] == whole
    assert await groups(rig, 10, 4) == []
