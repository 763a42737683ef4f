"""Bytes to text, as a browser does it."""

from time import perf_counter

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
        (" " * 1024 + "<meta charset=utf-8>", "utf-8"),
        ("<!-- never closed <meta charset=utf-8>", "windows-1252"),
    ],
)
def test_what_a_page_says_of_itself(start: str, name: str) -> None:
    expected = {"utf-8": "é", "windows-1252": "Ã©", "koi8-r": "ц╘"}[name]
    assert decode(start.encode() + "é".encode(), PLAIN) == start + expected


@pytest.mark.parametrize(
    ("late", "name"),
    [
        ('<meta charset="koi8-r">', "koi8-r"),
        ('<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=KOI8-R">', "koi8-r"),
        ('<meta charset="utf-8">', "utf-8"),
        ('<script>"<meta charset=utf-8>"</script><meta charset="koi8-r">', "koi8-r"),
        ('<!-- <meta charset="utf-8"> --><title><meta charset=utf-8></title><meta charset=koi8-r>', "koi8-r"),
        ("<link title='<meta charset=utf-8>'><meta charset=koi8-r>", "koi8-r"),
        ("</head><body><meta charset=koi8-r>", "windows-1252"),
        ("<body><meta charset=koi8-r>", "windows-1252"),
        ("<script><meta charset=koi8-r>", "windows-1252"),
        ("", "windows-1252"),
    ],
)
def test_what_a_page_says_of_itself_late_in_its_head(late: str, name: str) -> None:
    body = f"<html><head><style>{'a' * 3000}</style>{late}<h1>".encode("ascii") + "Привет".encode(
        "utf-8" if name == "utf-8" else "koi8-r"
    )
    text = decode(body, PLAIN)
    assert text.endswith(body.partition(b"<h1>")[2].decode(name))
    assert decode(body, typed("text/html; charset=koi8-r")) == body.decode("koi8-r")


def test_a_page_of_escapes_in_ascii_says_so_late_in_its_head() -> None:
    body = b"<head>" + b" " * 3000 + b"<meta charset=iso-2022-jp>" + "日本".encode("iso2022_jp")
    assert decode(body, PLAIN).endswith("日本")


@pytest.mark.parametrize(
    "piece",
    [b"<", b"<!--", b"<script>", b"<a '", b'<meta "', b"<meta a=b ", b"<meta>", b"<!-- -->", b"</title"],
)
def test_a_head_made_to_be_slow_is_not(piece: bytes) -> None:
    body = piece * (2_000_000 // len(piece)) + b"\xe9"
    begun = perf_counter()
    assert decode(body, PLAIN).endswith("é")
    assert perf_counter() - begun < 2


def test_the_header_outweighs_the_page() -> None:
    assert decode(b'<meta charset="koi8-r">\xc3\xa9', typed("text/html; charset=utf-8")).endswith("é")


def test_the_charset_alone() -> None:
    assert charset(typed("text/html; charset=LATIN1")) == "windows-1252"
    assert charset(PLAIN) is None
    assert charset(()) is None


@pytest.mark.parametrize("start", [b"<meta " + b"a" * 2000, b"<" * 1024, b"<!--" * 256, b"<meta a='" * 110])
def test_a_start_made_to_be_slow_is_not(start: bytes) -> None:
    assert decode(start, PLAIN) == start.decode()
