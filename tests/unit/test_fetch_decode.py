"""Bytes to text, as a browser does it."""

import pytest

from fyke.fetch.decode import charset, decode

PLAIN = (("content-type", "text/html"),)


def typed(value: str) -> tuple[tuple[str, str], ...]:
    return (("server", "x"), ("content-type", value))


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        ("é".encode(), typed("text/html; charset=utf-8"), "é"),
        ("é".encode(), typed('text/html;charset="UTF-8"'), "é"),
        ("é".encode(), typed("text/html; charset='utf8'"), "é"),
        ("é".encode(), typed("text/html; Charset = unicode-1-1-utf-8 ; x=y"), "é"),
        (b"\xe9", typed("text/html; charset=iso-8859-1"), "é"),
        (b"\x80\x93", typed("text/html; charset=latin1"), "€“"),
        (b"\x81\x8d", typed("text/html; charset=ascii"), "\x81\x8d"),
        (b"\x98", typed("text/html; charset=windows-1251"), "\x98"),
        (b"\xcf\xf0", typed("text/html; charset=cp1251"), "Пр"),
        ("日本".encode("shift_jis"), typed("text/html; charset=x-sjis"), "日本"),
        ("日本".encode("euc-jp"), typed("text/html; charset=euc-jp"), "日本"),
        ("中文".encode("gb18030"), typed("text/html; charset=gb2312"), "中文"),
        ("中文".encode("big5"), typed("text/html; charset=big5"), "中文"),
        ("한국".encode("cp949"), typed("text/html; charset=euc-kr"), "한국"),
        ("é".encode("utf-16-le"), typed("text/html; charset=utf-16"), "é"),
        (b"\xef\xbb\xbf\xc3\xa9", typed("text/html; charset=latin1"), "é"),
        (b"\xff\xfee\x00", typed("text/html; charset=utf-8"), "e"),
        (b"\xfe\xff\x00e", PLAIN, "e"),
        (b"\xe9", PLAIN, "é"),
        (b"\xe9", (), "é"),
        (b"\xe9", typed("text/html; charset=nonsense"), "é"),
        (b"a\xffb\xc3", typed("text/html; charset=utf-8"), "a\ufffdb\ufffd"),
        (b"\xed\xa0\x80", typed("text/html; charset=utf-8"), "\ufffd\ufffd\ufffd"),
        (b"", PLAIN, ""),
    ],
)
def test_header_mark_and_default(body: bytes, headers: tuple[tuple[str, str], ...], text: str) -> None:
    assert decode(body, headers) == text


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ('<meta charset="utf-8">', "utf-8"),
        ("<META CHARSET=utf-8 />", "utf-8"),
        ("<meta charset=utf-8/>", "windows-1252"),  # the slash belongs to the value
        ("<head><title>a > b</title><meta name=x content=y><meta charset='utf-8'>", "utf-8"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        ('<meta content="text/html; charset=koi8-r" http-equiv=content-type>', "koi8-r"),
        ('<meta charset="utf-16">', "utf-8"),
        ('<meta charset="x-user-defined">', "windows-1252"),
        ('<?xml version="1.0" encoding="koi8-r"?>', "koi8-r"),
        ('<?xml version="1.0" encoding="utf-16"?>', "utf-8"),
        ('<!-- <meta charset="koi8-r"> --><meta charset=utf-8>', "utf-8"),
        ('<p title="<meta charset=koi8-r>"><meta charset=utf-8>', "utf-8"),
        ('<meta content="text/html; charset=koi8-r">', "windows-1252"),
        ('<meta name="charset" content="utf-8">', "windows-1252"),
        ('<metadata charset="utf-8">', "windows-1252"),
        ("<meta charset=nonsense>", "windows-1252"),
        (" " * 1024 + "<meta charset=utf-8>", "windows-1252"),
        ("<!-- never closed <meta charset=utf-8>", "windows-1252"),
    ],
)
def test_what_a_page_says_of_itself(start: str, name: str) -> None:
    expected = {"utf-8": "é", "windows-1252": "Ã©", "koi8-r": "ц╘"}[name]
    assert decode(start.encode() + "é".encode(), PLAIN) == start + expected


def test_the_header_outweighs_the_page() -> None:
    assert decode(b'<meta charset="koi8-r">\xc3\xa9', typed("text/html; charset=utf-8")).endswith("é")


def test_the_charset_alone() -> None:
    assert charset(typed("text/html; charset=LATIN1")) == "windows-1252"
    assert charset(PLAIN) is None
    assert charset(()) is None


@pytest.mark.parametrize("start", [b"<meta " + b"a" * 2000, b"<" * 1024, b"<!--" * 256, b"<meta a='" * 110])
def test_a_start_made_to_be_slow_is_not(start: bytes) -> None:
    assert decode(start, PLAIN) == start.decode()
