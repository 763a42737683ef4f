"""CSV, JSON and JSON Lines, byte for byte."""

import csv
import json
from io import StringIO

import pytest

from fyke.core.record import Product
from tests.unit.export_cases import DIFF, FULL, HASH, ROWS, page, written

FULL_CSV = (
    "url,final_url,http_status,fetched_at,title,h1,price,currency,availability,sku,brand,category,"
    "breadcrumbs,images,attrs_json,text_hash\r\n"
    "https://shop.example/p/1,https://shop.example/p/1?v=1,200,2026-03-01T09:30:00.125Z,Oak table,"
    '"Oak table, large",1299.90,EUR,InStock,T-1,"Nord ""Licht"" & <Söhne>",Tables,Home > Tables,'
    "https://shop.example/1.jpg|https://shop.example/2%7Cb.jpg,"
    f'"{{""width"":""90 cm"",""legs"":4}}",{HASH}\r\n'
    f"https://shop.example/p/2,https://shop.example/p/2?v=1,200,2026-03-01T09:30:00.125Z,,,,,,,,,,,,{HASH}\r\n"
    "https://shop.example/p/3,https://shop.example/p/3?v=1,403,2026-03-01T09:30:00.125Z,,,,,,,,,,,,\r\n"
)
SEO_CSV = (
    "url,fetched_at,title,meta_description,h1,og_title,og_description,og_image,twitter_title,"
    "twitter_description,canonical,robots,hreflang,images_alt_joined\r\n"
    'https://shop.example/p/1,2026-03-01T09:30:00.125Z,Oak table,"Tables; and more","Oak table, large",Oak,'
    'Solid oak,https://shop.example/1.jpg,Oak!,Oak?,https://shop.example/p/1,"index,follow",'
    "en=https://shop.example/p/1|de=https://shop.example/de/p/1,front|side\r\n"
)
DIFF_CSV = (
    "url,prev_crawl_at,curr_crawl_at,change_type,fields_changed,price_prev,price_curr,"
    "availability_prev,availability_curr,title_prev,title_curr\r\n"
    "https://shop.example/p/1,,2026-03-01T09:30:00.125Z,ADDED,,,19.90,,,,Lamp\r\n"
    "https://shop.example/p/2,2026-03-01T09:29:59.125Z,2026-03-01T09:30:00.125Z,MODIFIED,"
    '"price;title",10.00,9.50,InStock,OutOfStock,Lamp,\'=Lamp\r\n'
)
FULL_JSONL = (
    '{"url":"https://shop.example/p/1","final_url":"https://shop.example/p/1?v=1","http_status":200,'
    '"fetched_at":"2026-03-01T09:30:00.125Z","title":"Oak table","h1":"Oak table, large","price":1299.90,'
    '"currency":"EUR","availability":"InStock","sku":"T-1","brand":"Nord \\"Licht\\" & <Söhne>",'
    '"category":"Tables","breadcrumbs":"Home > Tables",'
    '"images":"https://shop.example/1.jpg|https://shop.example/2%7Cb.jpg",'
    '"attrs_json":"{\\"width\\":\\"90 cm\\",\\"legs\\":4}",'
    f'"text_hash":"{HASH}"}}\n'
    '{"url":"https://shop.example/p/2","final_url":"https://shop.example/p/2?v=1","http_status":200,'
    '"fetched_at":"2026-03-01T09:30:00.125Z","title":null,"h1":null,"price":null,"currency":null,'
    '"availability":null,"sku":null,"brand":null,"category":null,"breadcrumbs":null,"images":null,'
    f'"attrs_json":null,"text_hash":"{HASH}"}}\n'
    '{"url":"https://shop.example/p/3","final_url":"https://shop.example/p/3?v=1","http_status":403,'
    '"fetched_at":"2026-03-01T09:30:00.125Z","title":null,"h1":null,"price":null,"currency":null,'
    '"availability":null,"sku":null,"brand":null,"category":null,"breadcrumbs":null,"images":null,'
    '"attrs_json":null,"text_hash":null}\n'
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("full", FULL_CSV), ("seo", SEO_CSV), ("diff", DIFF_CSV)],
    ids=["full", "seo", "diff"],
)
def test_csv_bytes(kind: str, expected: str) -> None:
    assert written(kind, "csv", ROWS[kind]).decode() == expected


def test_json_lines_bytes() -> None:
    assert written("full", "jsonl", FULL).decode() == FULL_JSONL


def test_json_is_the_same_lines_as_one_array() -> None:
    lines = FULL_JSONL.splitlines()
    assert written("full", "json", FULL).decode() == "[\n" + ",\n".join(lines) + "\n]\n"


@pytest.mark.parametrize("kind", ["full", "seo", "diff"])
def test_every_text_format_has_the_same_rows(kind: str) -> None:
    table = list(csv.DictReader(StringIO(written(kind, "csv", ROWS[kind]).decode(), newline="")))
    rows = json.loads(written(kind, "json", ROWS[kind]), parse_float=str)
    assert rows == [
        json.loads(line, parse_float=str) for line in written(kind, "jsonl", ROWS[kind]).splitlines()
    ]
    as_text = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows]
    if kind == "diff":  # CSV alone has to make the formula inert
        as_text[1]["title_curr"] = "'" + as_text[1]["title_curr"]
    assert as_text == table


@pytest.mark.parametrize("format", ["csv", "json", "jsonl"])
def test_batches_do_not_show(format: str) -> None:
    whole = written("full", format, FULL)
    assert written("full", format, [], *([row] for row in FULL), []) == whole


def test_no_rows() -> None:
    assert written("diff", "json") == b"[]\n"
    assert written("diff", "jsonl") == b""
    assert written("diff", "csv").count(b"\r\n") == 1
    assert written("full", "csv", [page(status=None, state="failed")]).count(b"\r\n") == 1


def test_numbers_keep_their_decimals_and_lose_their_exponent() -> None:
    record = page()._replace(data_full=b'{"price":1.20E+3}')
    assert b",1200," not in written("full", "csv", [page()])
    assert b",1200," in written("full", "csv", [record])
    assert b'"price":1200,' in written("full", "jsonl", [record])
    assert b",7.10," in written("full", "csv", [page()._replace(data_full=b'{"price":"7.10"}')])


def test_lists_with_escapes_in_them() -> None:
    data = Product(breadcrumbs=('a "b",', "c\\", "d\ne"), images=("https://x.example/\u00e4",))
    (row,) = json.loads(written("full", "json", [page(data=data)]))
    assert row["breadcrumbs"] == 'a "b", > c\\ > d\ne'
    assert row["images"] == "https://x.example/ä"


def test_a_diff_of_a_page_gone() -> None:
    row = json.loads(written("diff", "jsonl", DIFF[:1]))
    assert row["price_prev"] is None
    assert row["prev_crawl_at"] is None
