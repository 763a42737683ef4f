"""Title, heading, text hash and links: what every record has."""

from hashlib import sha256

import pytest

from fyke.core.errors import UnknownName
from fyke.extract import TARGETS, extract

URL = "https://shop.example/a/b?x=1"


def hash_of(text: str) -> str:
    return sha256("".join(text.split()).encode()).hexdigest()


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Plain</title>", "Plain"),
        ("<title>\n  Tea &amp;\tcake  </title>", "Tea & cake"),
        ("<TITLE>Upper</TITLE>", "Upper"),
        ("<title>first</title><title>second</title>", "first"),
        ("<title></title><title>not empty</title>", "not empty"),
        ("<!-- <title>comment</title> --><title>real</title>", "real"),
        ("<script>var t = '<title>script</title>'</script><title>real</title>", "real"),
        ("<style>/* <title>style</title> */</style><title>real</title>", "real"),
        ("<noscript><title>noscript</title></noscript><title>real</title>", "real"),
        ("<template><title>template</title></template><title>real</title>", "real"),
        ("<body><svg><title>drawing</title></svg><title>late</title>", "late"),
        ("<body><svg><title>drawing</title></svg>", None),
        ('<meta content="<title>attribute</title>"><title>real</title>', "real"),
        ("<title><b>bold</b></title>", "<b>bold</b>"),
        ("<title>never closed", "never closed"),
        ("", None),
        ("no tags", None),
        ("<title>nul\0 and &#0;</title>", "nul\ufffd and \ufffd"),
        ("<title>half \ud83d pair</title>", "half ? pair"),
    ],
)
def test_title(html: str, title: str | None) -> None:
    assert extract(html, URL, "page").title == title


@pytest.mark.parametrize(
    ("html", "h1"),
    [
        ("<h1>One</h1><h1>Two</h1>", "One"),
        ("<h1> </h1><h1>Two</h1>", "Two"),
        ("<H1 class=big id='x'>A&nbsp;B</H1>", "A B"),
        ("<h1>Line<br>break</h1>", "Line break"),
        ("<h1><div>Block</div><div>by block</div></h1>", "Block by block"),
        ("<h1>H<sub>2</sub>O</h1>", "H2O"),
        ("<h1>Seen<script>unseen()</script><style>b{}</style></h1>", "Seen"),
        ("<!--<h1>comment</h1>--><h1>real</h1>", "real"),
        ("<template><h1>template</h1></template><h1>real</h1>", "real"),
        ("<noscript><h1>noscript</h1></noscript><h1>real</h1>", "real"),
        ("<h2>other</h2>", None),
    ],
)
def test_h1(html: str, h1: str | None) -> None:
    assert extract(html, URL, "page").h1 == h1


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<body><p>One</p><p>Two</p>", "OneTwo"),
        ("<body>\n  <p> One </p>\n\n  <p>Two</p>\n", "One Two"),
        ("<title>not seen</title><p>One Two", "One Two"),
        ("<p>One<script>x</script><style>y</style><noscript>z</noscript> Two", "One Two"),
        ("<p>One<template><b>t</b></template><!-- c --> Two", "One Two"),
        ("<p>One &amp; Two &euro;", "One & Two €"),
        ("", ""),
        ("<frameset><frame src=a></frameset>", ""),
    ],
)
def test_text_hash_is_of_the_text_that_is_seen(html: str, text: str) -> None:
    assert extract(html, URL, "page").text_hash == hash_of(text)


def test_text_hash_sees_a_changed_word() -> None:
    assert extract("<p>one two", URL, "page").text_hash != extract("<p>one too", URL, "page").text_hash


def test_links_are_absolute_and_given_once() -> None:
    html = """
        <a href="/x">1</a> <a href=' /x#part '>again</a> <a href="#here">here</a> <a>no</a> <a href="">no</a>
        <a href="javascript:go()">2</a> <a href="mailto:a@example.org">3</a> <a href="//cdn.example/y z">4</a>
        <a href="http://[bad">5</a> <A HREF=c?q=1&amp;r=2>6</A> <template><a href="/t">t</a></template>
        <!-- <a href="/c">c</a> -->
    """
    assert extract(html, URL, "page", links=True).links == (
        "https://shop.example/x",
        "https://cdn.example/y%20z",
        "https://shop.example/a/c?q=1&r=2",
    )


def test_links_are_left_out_unless_asked_for() -> None:
    assert extract("<a href=/x>1</a>", URL, "page").links == ()


def test_base_element_moves_relative_urls() -> None:
    html = (
        '<base target=a><base href="https://other.example/d/"><a href="q">1</a><link rel=canonical href=/c>'
    )
    record = extract(html, URL, "page", links=True)
    assert record.links == ("https://other.example/d/q",)
    assert record.seo.canonical == "https://other.example/c"


def test_a_page_address_that_is_no_url_still_gives_a_record() -> None:
    record = extract(
        "<title>T</title><a href=/x>1</a><a href=https://a.example/>2</a>", "nonsense", "page", links=True
    )
    assert record.title == "T"
    assert record.links == ("https://a.example/",)


def test_page_target_reads_no_product() -> None:
    html = '<script type="application/ld+json">{"@type":"Product","sku":"1"}</script>'
    assert extract(html, URL, "page").data.sku is None
    assert extract(html, URL, "product").data.sku == "1"


def test_unknown_target_names_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        extract("", URL, "produkt")
    assert caught.value.details["nearest"] == ["product"]


def test_targets_are_registered_under_their_names() -> None:
    assert {name: target.name for name, target in TARGETS.items()} == {"page": "page", "product": "product"}
