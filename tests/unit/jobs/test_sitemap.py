"""Sitemaps as they are and as they should not be."""

import gzip
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from fyke.jobs.sitemap import Entry, Report, read_sitemap

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{NAMESPACE}">'.encode()


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def read(body: bytes, size: int = 1 << 16, limit: int = 1 << 24) -> tuple[list[Entry], Report]:
    report = Report()
    found: list[Entry] = []
    async for entries in read_sitemap(pieces(body, size), report, limit):
        found += entries
    return found, report


def locs(entries: list[Entry]) -> list[str]:
    return [entry.loc for entry in entries]


def urlset(*paths: str) -> bytes:
    urls = "".join(f"<url><loc>http://shop.example/{path}</loc></url>" for path in paths)
    return HEAD + urls.encode() + b"</urlset>"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
async def test_urls_and_their_times(size: int) -> None:
    body = HEAD + (
        b"<url>\n  <loc> http://shop.example/a </loc><lastmod>2026-01-02</lastmod>"
        b"<changefreq>daily</changefreq></url>"
        b"<url><loc>http://shop.example/b?x=1&amp;y=2</loc></url></urlset>\n"
    )
    found, report = await read(body, size)
    assert found == [
        Entry("http://shop.example/a", "2026-01-02"),
        Entry("http://shop.example/b?x=1&y=2"),
    ]
    assert report == Report(ended=True)


async def test_an_index_leads_to_further_sitemaps() -> None:
    body = f'<sitemapindex xmlns="{NAMESPACE}"><sitemap><loc>http://s.example/1.xml</loc></sitemap></sitemapindex>'
    found, report = await read(body.encode())
    assert found == [Entry("http://s.example/1.xml", None, index=True)]
    assert report.complete


async def test_prefixes_and_extensions_do_not_matter() -> None:
    body = (
        b'<s:urlset xmlns:s="x" xmlns:image="y"><s:url><s:loc>http://s.example/a</s:loc>'
        b"<image:image><image:loc>http://s.example/a.jpg</image:loc></image:image>"
        b"<video:video><video:player_loc>http://s.example/v</video:player_loc></video:video>"
        b'<xhtml:link rel="alternate" hreflang="de" href="http://s.example/de"/></s:url></s:urlset>'
    )
    found, report = await read(body)
    assert locs(found) == ["http://s.example/a"]
    assert report.complete


@pytest.mark.parametrize("size", [3, 1 << 16])
async def test_gzip_is_known_by_its_content(size: int) -> None:
    half = len(urlset("a", "b")) // 2
    whole = urlset("a", "b")
    members = gzip.compress(whole[:half]) + gzip.compress(whole[half:])
    for body in (gzip.compress(whole), members):
        found, report = await read(body, size)
        assert locs(found) == ["http://shop.example/a", "http://shop.example/b"]
        assert report.complete


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + urlset("a"),
        b"\n\n  " + urlset("a"),
        urlset("a").decode().replace("UTF-8", "UTF-16").encode("utf-16"),
        urlset("a").replace(b"UTF-8", b"utf-16"),  # some generators say so, and write UTF-8
        urlset("a").replace(b"UTF-8", b"windows-1252"),
    ],
)
async def test_marks_blanks_and_encodings(body: bytes) -> None:
    found, report = await read(body)
    assert locs(found) == ["http://shop.example/a"]
    assert report.complete


async def test_other_character_sets_are_read() -> None:
    body = '<?xml version="1.0" encoding="shift_jis"?><urlset><url><loc>http://s/\u8336</loc></url></urlset>'
    found, report = await read(body.encode("shift_jis"), 1)
    assert locs(found) == ["http://s/\u8336"]
    assert report.complete
    body = '<?xml version="1.0" encoding="klingon"?><urlset><url><loc>http://s/a</loc></url></urlset>'
    found, report = await read(body.encode())
    assert locs(found) == ["http://s/a"]
    assert report.warnings == 1
    assert report.complete


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_a_text_sitemap_has_a_url_a_line(mark: bytes) -> None:
    body = mark + b"http://s.example/a\r\n\n  http://s.example/b\n# a remark\nhttp://s.example/c"
    for size in (2, 1 << 16):
        found, report = await read(body, size)
        assert locs(found) == ["http://s.example/a", "http://s.example/b", "http://s.example/c"]
        assert report.complete


BROKEN = [
    ("<url><loc>http://s/1</loc></url><url><loc>http://s/2?a<b</loc></url>", ["http://s/1", "http://s/3"]),
    ("<url><loc>http://s/1</loc></url><url><loc>http://s/2</url>", ["http://s/1", "http://s/3"]),
    ("<url><loc>http://s/1</loc></url> &nbsp; ", ["http://s/1", "http://s/3"]),
    ("<url><loc>http://s/\x01</loc></url><url><loc>http://s/1</loc></url>", ["http://s/1", "http://s/3"]),
    ("<url><loc>http://s/&eacute;</loc></url>", ["http://s/3"]),
]


@pytest.mark.parametrize("size", [1, 5, 1 << 16])
@pytest.mark.parametrize(("middle", "expected"), BROKEN)
async def test_what_is_malformed_is_lost_alone(middle: str, expected: list[str], size: int) -> None:
    body = HEAD + middle.encode() + b"<url><loc>http://s/3</loc></url></urlset>"
    found, report = await read(body, size)
    assert locs(found) == expected
    assert report.warnings == 1
    assert not report.complete


async def test_every_broken_entry_is_counted() -> None:
    broken = b"<url><loc>http://s/?a<b</loc></url>" * 50
    found, report = await read(HEAD + broken + b"<url><loc>http://s/1</loc></url></urlset>", 64)
    assert locs(found) == ["http://s/1"]
    assert report.warnings == 50
    assert len(report.notes) == 5


@pytest.mark.parametrize("end", [-1, -10, -30, -45])
async def test_what_comes_before_a_cut_is_read(end: int) -> None:
    found, report = await read(urlset("a", "b")[:end])
    assert found[0].loc == "http://shop.example/a"
    assert report.warnings >= 1
    assert not report.complete


async def test_cut_off_gzip_gives_what_there_is() -> None:
    body = gzip.compress(urlset(*[f"{i}-{i * i}" for i in range(5000)]))
    found, report = await read(body[: len(body) // 2])
    assert 100 < len(found) < 5000
    assert not report.complete
    assert "gzip" in report.notes[0]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 16])
async def test_ampersands_that_nobody_escaped_lose_nothing(size: int) -> None:
    texts = [
        ("?a=1&b=2&c;=3&", None),
        ("?a=1&b=2", "?a=1&b=2"),
        ("?a=1&amp;b=2&copy=3&#38;d&#x26;e&#x;f&#;g&&h", "?a=1&b=2&copy=3&d&e&#x;f&#;g&&h"),
        ("<![CDATA[?a=1&b=2&amp;c<!--]]>", "?a=1&b=2&amp;c<!--"),
        ("<!-- & <![CDATA[ -->?x&y", "?x&y"),
        ("?" + "&" + "n" * 200 + "=1", "?" + "&" + "n" * 200 + "=1"),
    ]
    body = "".join(f"<url><loc>http://s/{text}</loc><x y='?p&q'/></url>" for text, _ in texts)
    found, report = await read(HEAD + body.encode() + b"</urlset>", size)
    assert locs(found) == [f"http://s/{text}" for _, text in texts if text is not None]
    assert "&amp;" in report.notes[0]
    assert (report.warnings, report.complete) == (2, False), "of the unknown entity"
    found, report = await read(urlset("?a&b", "?c&d"), size)
    assert locs(found) == ["http://shop.example/?a&b", "http://shop.example/?c&d"]
    assert (report.warnings, report.complete) == (1, True)


ENTITIES = b'<!DOCTYPE u [<!ENTITY a "http://s/">]><urlset><url><loc>&a;</loc></url></urlset>'
LAUGHS = (
    b'<!DOCTYPE u [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
)
OUTSIDE = b'<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>'
PARAMETER = b'<!DOCTYPE u [<!ENTITY % p SYSTEM "http://s/dtd"> %p;]><urlset/>'


@pytest.mark.parametrize("body", [ENTITIES, LAUGHS, OUTSIDE, PARAMETER])
async def test_entities_are_refused(body: bytes) -> None:
    found, report = await read(body)
    assert found == []
    assert not report.complete
    assert "entity" in report.notes[0]


async def test_a_bomb_does_not_go_off() -> None:
    bomb = gzip.compress(HEAD + b" " * (64 << 20))
    tracemalloc.start()
    found, report = await read(bomb, limit=8 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == []
    assert "more than" in report.notes[0]
    assert peak < 4 << 20


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \n", "empty"),
        (b"<html><body>Not here</body></html>", "root element is <html>"),
        (b"<!-- nothing -->", "no root element"),
        (b"Not found", "neither XML nor a list"),
        (b'{"error": "no"}', "neither XML nor a list"),
        (HEAD + b"<a>" * 200, "deep"),
        (HEAD + b"<url><loc " + b"a" * (3 << 20), "more than"),
        (HEAD + b"<url><loc>" + b"a" * 100_000 + b"</loc></url></urlset>", "characters"),
    ],
)
async def test_what_is_no_sitemap_says_why(body: bytes, reason: str) -> None:
    found, report = await read(body)
    assert found == []
    assert report.warnings == 1
    assert reason in report.notes[0]
    assert not report.complete


async def test_an_entry_without_a_location_is_counted() -> None:
    found, report = await read(HEAD + b"<url><lastmod>2026</lastmod></url><url><loc/></url></urlset>")
    assert found == []
    assert report.warnings == 2
    assert report.complete


async def test_a_hundred_thousand_urls_take_no_memory() -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield HEAD
        for start in range(0, 100_000, 100):
            yield b"".join(
                [b"<url><loc>http://s.example/p/%d</loc></url>" % n for n in range(start, start + 100)]
            )
        yield b"</urlset>"

    report, count = Report(), 0
    tracemalloc.start()
    async for entries in read_sitemap(stream(), report):
        count += len(entries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 100_000
    assert report.complete
    assert peak < 1 << 20
