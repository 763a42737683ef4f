"""Pages made to hurt: a record comes all the same, and in one pass (the test's time limit would tell)."""

import pytest

from fyke.extract import extract

MANY = 200_000
SCRIPT = '<script type="application/ld+json">{}</script>'

PAGES = {
    "nested blocks": "<div>" * MANY,
    "nested items": "<div itemscope itemprop=a itemtype=Product>" * 2000,
    "nested resources": '<div vocab="https://schema.org/" typeof=Product property=a>' * 2000,
    "nested tables": "<table><tr><td>" * 20_000,
    "nested lists in a trail": "<ul class=breadcrumb><li>" * 5000,
    "nested JSON": SCRIPT.format("[" * MANY),
    "formatting to be rebuilt": "".join(f"<b id={number}>" for number in range(2000)) + "<p>x" * 2000,
    "attributes": "<p " + " ".join(f"a{number}" for number in range(MANY // 4)) + ">",
    "unclosed string": SCRIPT.format('{x"' + r"\"" * MANY),
    "unclosed comments": SCRIPT.format("{x" + "/*" * MANY),
    "stars": SCRIPT.format("{x/*" + "*" * MANY),
    "commas": SCRIPT.format("{x" + ", " * MANY),
    "white space": SCRIPT.format("{x" + " " * MANY + "x"),
    "marks at the end": SCRIPT.format("{x" + "*/;" * MANY),
    "quotes": SCRIPT.format('"' * (MANY + 1)),
    "escapes": SCRIPT.format('{"a":"' + "\\" * MANY + '"}'),
    "opened tags in a name": SCRIPT.format('{"@type":"Product","name":"' + "<a" * MANY + '"}'),
    "long price": "<i itemprop=price>" + "1 " * MANY,
    "long address": "<link rel=canonical href=/" + "a" * MANY + ">",
    "many metas": "<meta name=description content=a>" * (MANY // 10),
    "many items": "<p itemscope itemtype=Product><i itemprop=sku>x</i></p>" * (MANY // 40),
}


@pytest.mark.parametrize("name", PAGES)
def test_there_is_a_record(name: str) -> None:
    record = extract(PAGES[name], "https://shop.example/", "product", links=True)
    assert len(record.text_hash) == 64
