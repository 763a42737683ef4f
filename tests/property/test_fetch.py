"""Decoding and inflating, over anything."""

import gzip
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli  # type: ignore[import-untyped]  # ships no types
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.core.http import retry_after
from fyke.core.page import Page
from fyke.fetch.blocked import judge
from fyke.fetch.decode import decode
from fyke.fetch.headers import read_head
from fyke.fetch.inflate import BadEncoding, inflater

relaxed = settings(deadline=None)  # a loaded machine is no fault

ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
bodies = st.binary(max_size=2000) | st.builds(
    lambda b, n: b * n, st.binary(max_size=20), st.integers(0, 20_000)
)


def portions(data: bytes, cuts: list[int]) -> list[bytes]:
    points = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(points)]


@relaxed
@given(st.lists(st.sampled_from(sorted(ENCODERS)), max_size=2), bodies, st.lists(st.integers(0), max_size=8))
def test_what_was_encoded_comes_back(names: list[str], body: bytes, cuts: list[int]) -> None:
    encoded = body
    for name in names:
        encoded = ENCODERS[name](encoded)
    undo = inflater(", ".join(names))
    if undo is None:
        assert names == []
        return
    assert b"".join(piece for part in portions(encoded, cuts) for piece in undo.feed(part)) == body
    assert undo.whole


@relaxed
@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=300), st.lists(st.integers(0), max_size=4))
def test_garbage_is_told_and_nothing_else_happens(name: str, body: bytes, cuts: list[int]) -> None:
    undo = inflater(name)
    assert undo is not None
    try:
        size = sum(len(piece) for part in portions(body, cuts) for piece in undo.feed(part))
    except BadEncoding:
        return
    assert size < 1 << 28


@relaxed
@given(st.binary(max_size=1500), st.text(max_size=30))
def test_any_bytes_have_a_text(body: bytes, charset: str) -> None:
    assert isinstance(decode(body, (("content-type", f"text/html; charset={charset}"),)), str)
    assert isinstance(decode(body, ()), str)


@relaxed
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_text_in_utf_8_comes_back(text: str) -> None:
    assert decode(text.encode(), (("content-type", "text/html; charset=utf-8"),)) == text.removeprefix(
        "\ufeff"
    )


@relaxed
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20))
def test_any_lines_are_a_head(lines: list[bytes]) -> None:
    head = read_head([b"HTTP/1.1 " + lines[0], *lines[1:]])
    assert head.size == 9 + sum(map(len, lines))
    assert all(name == name.lower().strip(" \t\r\n") for name, _ in head.headers)


@relaxed
@given(st.text(max_size=40))
def test_a_retry_after_is_seconds_or_nothing(value: str) -> None:
    seconds = retry_after(value, 1_772_700_000_000_000)
    assert seconds is None or 0 <= seconds <= 86_400


@relaxed
@given(st.sampled_from([200, 403, 404, 429, 503]), st.text('lamp <>/="0123', max_size=200))
def test_only_a_429_is_a_block_without_further_signs(status: int, body: str) -> None:
    page = Page("", "", status, (), body.encode(), 0, 0, 0.0)
    assert (judge(page) is not None) == (status == 429)
