"""Heads, content types, encodings and error classes: the pure parts of fetching."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped]  # ships no types
import pytest
import zstandard

from fyke.core.page import ErrorClass
from fyke.fetch import headers, inflate
from fyke.fetch.headers import read_head, wanted_type
from fyke.fetch.inflate import PIECE, BadEncoding, inflater
from fyke.fetch.options import PAGES
from fyke.fetch.problems import explain

TEXT = b"A lamp of brass, and a table to put it on. " * 2000


def test_a_head_is_read_in_order_with_names_in_lower_case() -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=1\r\n", b"X: 1 \r\n", b"set-cookie:b=2\r\n", b"\r\n"]
    head = read_head(lines)
    assert head.status == 200
    assert head.headers == (("set-cookie", "a=1"), ("x", "1"), ("set-cookie", "b=2"))
    assert head.get("set-cookie") == "a=1"
    assert head.get("none") is None
    assert head.size == len(b"".join(lines))
    assert head.whole


def test_interim_responses_come_before_and_trailers_after() -> None:
    lines = [b"HTTP/1.1 103 Hints\r\n", b"Link: x\r\n", b"\r\n", b"HTTP/1.1 404 Not Found\r\n", b"A: 1\r\n"]
    head = read_head([*lines, b"\r\n", b"Trailer: t\r\n"])
    assert (head.status, head.headers) == (404, (("a", "1"), ("trailer", "t")))
    assert not read_head([b"HTTP/1.1 200 OK\r\n", b"A: 1\r\n"]).whole


@pytest.mark.parametrize(
    ("line", "status"),
    [(b"HTTP/2 204\r\n", 204), (b"HTTP/1.0 301 x\r\n", 301), (b"HTTP/1.1 xyz\r\n", 0), (b"HTTP/3\r\n", 0)],
)
def test_the_status_line(line: bytes, status: int) -> None:
    assert read_head([line, b"\r\n"]).status == status


def test_a_cookie_is_not_kept_in_the_cache_of_lines() -> None:

    read_head([b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: crumb=1\r\n", b"\r\n"])
    assert not any(b"crumb" in line for line in headers._lines)
    for number in range(10_000):
        read_head([b"HTTP/1.1 200 OK\r\n", b"X: %d\r\n" % number, b"\r\n"])
    assert len(headers._lines) <= headers.CACHED_LINES


@pytest.mark.parametrize(
    ("content_type", "wanted"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/HTML", True),
        ("application/xhtml+xml", True),
        ("application/rss+xml", True),
        ("text/plain", True),
        (None, True),
        ("nonsense", True),
        ("", True),
        ("application/pdf", False),
        ("image/png", False),
        ("application/json", False),
        ("video/mp4;text/html", False),
    ],
)
def test_which_types_a_page_may_have(content_type: str | None, wanted: bool) -> None:
    assert wanted_type(content_type, PAGES.types) is wanted
    assert wanted_type(content_type, ())


def test_a_type_may_be_wanted_by_its_first_half() -> None:
    assert wanted_type("image/png", ("image/*",))
    assert not wanted_type("imagery/png", ("image/*",))


def encode(name: str) -> bytes:
    raw = zlib.compressobj(wbits=-15)
    return {
        "gzip": lambda: gzip.compress(TEXT),
        "members": lambda: gzip.compress(TEXT[:50]) + gzip.compress(b"") + gzip.compress(TEXT[50:]),
        "padded": lambda: gzip.compress(TEXT) + bytes(40),
        "deflate": lambda: zlib.compress(TEXT),
        "raw": lambda: raw.compress(TEXT) + raw.flush(),
        "br": lambda: bytes(brotli.compress(TEXT)),
        "zstd": lambda: zstandard.compress(TEXT),
        "frames": lambda: zstandard.compress(TEXT[:99]) + zstandard.compress(TEXT[99:]),
    }[name]()


@pytest.mark.parametrize("kind", ["gzip", "members", "padded", "deflate", "raw", "br", "zstd", "frames"])
@pytest.mark.parametrize("step", [1, 7, 100_000])
@pytest.mark.parametrize("library", ["zlib", "zlib_ng"])
def test_encodings_are_undone_in_any_portions(
    kind: str, step: int, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "zlib":
        monkeypatch.setattr(inflate, "zlib", zlib)
        monkeypatch.setattr(inflate, "ZLIB_ERROR", zlib.error)
    body = encode(kind)
    names = {"raw": "deflate", "frames": "zstd", "members": "gzip", "padded": "gzip"}
    undo = inflater(names.get(kind, kind))
    assert undo is not None
    pieces = [piece for start in range(0, len(body), step) for piece in undo.feed(body[start : start + step])]
    assert b"".join(pieces) == TEXT
    assert undo.whole


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd"])
def test_half_a_body_is_not_whole(kind: str) -> None:
    undo = inflater(kind)
    assert undo is not None
    body = encode(kind)
    assert undo.whole, "an empty body is a whole one"
    assert TEXT.startswith(b"".join(undo.feed(body[: len(body) // 2])))
    assert not undo.whole


@pytest.mark.parametrize("kind", ["gzip", "deflate", "br", "zstd", "gzip, br"])
def test_what_is_not_encoded_is_told(kind: str) -> None:
    undo = inflater(kind)
    assert undo is not None
    with pytest.raises(BadEncoding):
        list(undo.feed(b"<!doctype html><title>Not compressed at all</title>" * 10))


def test_pieces_stay_small_whatever_they_come_from() -> None:
    for kind, body in (
        ("gzip", gzip.compress(bytes(10 * PIECE))),
        ("br", brotli.compress(bytes(10 * PIECE))),
    ):
        undo = inflater(kind)
        assert undo is not None
        sizes = [len(piece) for piece in undo.feed(body)]
        assert sum(sizes) == 10 * PIECE
        assert max(sizes) <= 2 * PIECE  # brotli takes its limit as a hint


def test_nothing_to_undo() -> None:
    assert inflater(None) is None
    assert inflater("identity") is None
    assert inflater(" , ") is None
    with pytest.raises(BadEncoding, match="x-unknown"):
        inflater("gzip, x-unknown")
    with pytest.raises(BadEncoding, match="3 content encodings"):
        inflater("gzip, gzip, gzip")


def test_libcurls_codes_have_error_classes() -> None:
    assert explain(6, "Could not resolve host")[0] == ErrorClass.DNS
    assert explain(28, "Operation timed out")[0] == ErrorClass.TIMEOUT
    assert explain(56, "Too large response headers: 307201 > 307200")[0] == ErrorClass.HEADERS_TOO_LARGE
    assert explain(56, "Recv failure: Connection reset by peer")[0] == ErrorClass.CONNECTION_LOST
    assert explain(60, "self-signed certificate")[0] == ErrorClass.TLS
    assert explain(56, "chunk hex-length char not a hex digit: 0x7a")[0] == ErrorClass.PROTOCOL
    assert explain(35, "")[0] == explain(83, "")[0] == ErrorClass.TLS
    assert explain(94, "")[0] == explain(9999, "")[0] == ErrorClass.PROTOCOL


@pytest.mark.parametrize("code", [*range(1, 102), 9999])
def test_a_code_about_which_libcurl_says_nothing_has_a_sentence(code: int) -> None:
    message = explain(code, "")[1]
    assert len(message.split()) > 3
    assert message[0].islower() or message.startswith("TLS")


@pytest.mark.parametrize(
    ("code", "said", "error_class"),
    [
        (100, "", ErrorClass.HEADERS_TOO_LARGE),
        (100, "trailers exceeded header limit", ErrorClass.HEADERS_TOO_LARGE),
        (56, "Out of memory in chunked-encoding", ErrorClass.HEADERS_TOO_LARGE),
        (56, "Malformed encoding found in chunked-encoding", ErrorClass.PROTOCOL),
        (56, "Too many response headers, 5000 is max", ErrorClass.HEADERS_TOO_LARGE),
        (1, "Received HTTP/0.9 when not allowed", ErrorClass.PROTOCOL),
    ],
)
def test_what_libcurl_says_is_put_for_people(code: int, said: str, error_class: str) -> None:
    found, message = explain(code, said)
    assert found == error_class
    assert message != said
    assert "memory" not in message
