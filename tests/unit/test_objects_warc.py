"""WARC records, as we and as warcio read them."""

from io import BytesIO

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no types

from fyke.core import clock
from fyke.core.errors import Invalid
from fyke.core.page import Page
from fyke.objects.warc import info_record, page_record, read_page, whole_records

AT = clock.from_iso("2026-03-01T09:30:00Z") + 125_001
PAGE = Page(
    url="https://shop.example/p/1",
    final_url="https://shop.example/p/1?v=1",
    status=404,
    headers=(
        ("content-type", "text/html; charset=utf-8"),
        ("content-encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("x-empty", ""),
        ("link", "a=1"),
        ("link", "b=2"),
    ),
    body="<html>Größe\r\n\r\n</html>".encode(),
    bytes_in=123,
    fetched_at=AT,
    elapsed=0.1,
    address="192.0.2.1",
)
KEPT = ("url", "final_url", "status", "headers", "body", "fetched_at", "address")


def same(one: Page, other: Page) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in KEPT)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("body", [b"", PAGE.body, bytes(200_000), b"\r\n\r\n" * 9])
def test_there_and_back(level: int, body: bytes) -> None:
    page = Page(**{name: getattr(PAGE, name) for name in PAGE.__struct_fields__} | {"body": body})
    assert same(read_page(page_record(page, level)), page)


def test_without_redirect_or_address() -> None:
    page = Page("https://a.example/", "https://a.example/", 299, (), b"x", 0, AT, 0.0)
    assert same(read_page(page_record(page)), page)


@pytest.mark.parametrize("level", [0, 1])
def test_as_warcio_reads_it(level: int) -> None:
    data = info_record("bodies.warc.gz", AT) + page_record(PAGE, level) + page_record(PAGE, level)
    records = ArchiveIterator(BytesIO(data), check_digests=True)
    info = next(records)
    assert info.rec_type == "warcinfo"
    assert b"Fyke" in info.content_stream().read()
    page = next(records)
    assert page.rec_type == "response"
    assert page.rec_headers.get_header("WARC-Target-URI") == PAGE.final_url
    assert page.rec_headers.get_header("WARC-Date") == "2026-03-01T09:30:00.125001Z"
    assert page.rec_headers.get_header("WARC-IP-Address") == "192.0.2.1"
    assert page.http_headers.protocol == "HTTP/1.1"
    assert page.http_headers.statusline == "404 Not Found"
    assert page.http_headers.get_header("content-type") == "text/html; charset=utf-8"
    assert page.http_headers.get_header("content-length") == str(len(PAGE.body))
    assert page.http_headers.get_header("x-crawler-content-encoding") == "gzip"
    assert page.content_stream().read() == PAGE.body
    assert next(records).content_stream().read() == PAGE.body
    assert next(records, None) is None


def test_a_header_cannot_break_the_record() -> None:
    page = Page(PAGE.url, PAGE.url, 200, (("link", "a=1\nb=2"), ("x", "1\r\n\r\n<p>")), b"body", 0, AT, 0.0)
    read = read_page(page_record(page))
    assert read.body == b"body"
    assert read.headers == (("link", "a=1"), ("link", "b=2"), ("x", "1"), ("x", ""), ("x", "<p>"))


def test_the_same_page_makes_the_same_record() -> None:
    assert page_record(PAGE) == page_record(PAGE)


@pytest.mark.parametrize(
    "record", [b"", b"nothing", page_record(PAGE)[:-9], page_record(PAGE)[1:], info_record("x", AT)]
)
def test_what_is_no_record(record: bytes) -> None:
    with pytest.raises(Invalid, match="no page record"):
        read_page(record)


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_whole_records_end_where_a_crash_cut(level: int, chunk: int) -> None:
    records = [info_record("x", AT), page_record(PAGE, level), page_record(PAGE, level)]
    data = b"".join(records)
    ends = [0, len(records[0]), len(records[0]) + len(records[1]), len(data)]
    for cut in {*ends, 1, ends[1] - 1, ends[1] + 1, ends[2] - 8, ends[2] + 30, len(data) - 1}:
        torn = data[:cut]
        chunks = iter([torn[start : start + chunk] for start in range(0, cut, chunk)])
        assert whole_records(chunks) == max(end for end in ends if end <= cut)


def test_whole_records_before_garbage() -> None:
    record = page_record(PAGE)
    assert whole_records(iter([record + b"garbage"])) == len(record)
    assert whole_records(iter([record, bytes(20)])) == len(record)


def test_cookies_are_not_kept() -> None:
    page = Page(PAGE.url, PAGE.url, 200, (("set-cookie", "session=secret"), ("x", "1")), b"body", 0, AT, 0.0)
    record = page_record(page, 0)
    assert b"secret" not in record
    assert read_page(record).headers == (("x", "1"),)
