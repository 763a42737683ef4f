"""Whatever comes as a page, there is a record, and it can be stored."""

import json
import re
from urllib.parse import urlsplit

from hypothesis import given, settings
from hypothesis import strategies as st

from fyke.core.errors import InvalidUrl
from fyke.core.record import Product, Seo
from fyke.core.urls import join
from fyke.extract import extract
from fyke.extract.encode import data_json, seo_json
from fyke.extract.links import Base
from fyke.extract.money import amount
from tests.unit.extract.generator import page
from tests.unit.extract.stored import data_from, seo_from

URL = "https://shop.example/p/1"
TAG_NAMES = """
html head body title meta link base h1 img a script style template noscript svg math table tr td p
div nav ol li br select option textarea frameset iframe title span button form
"""
TAGS = TAG_NAMES.split()
ATTRIBUTE_LIST = r"""
itemscope itemprop=price itemprop=offers itemprop=name itemtype=https://schema.org/Product
property=og:title property=product:price:amount name=description content=5 content='&euro;5'
rel=canonical rel=alternate hreflang=de href=/x href=// src=x alt=y class=breadcrumb
type=application/ld+json typeof=Product vocab=https://schema.org/ property=price itemref=a id=a" ' =
< >
"""
ATTRIBUTES = ATTRIBUTE_LIST.split()
KEY_NAMES = """
@type @id @graph name sku offers price priceCurrency availability lowPrice highPrice brand image url
itemListElement position item breadcrumb mainEntity hasVariant aggregateRating ratingValue
reviewCount priceSpecification priceType category gtin itemCondition
"""
KEYS = KEY_NAMES.split()

names = st.sampled_from(TAGS)
openings = st.builds(
    lambda tag, parts: f"<{' '.join([tag, *parts])}>",
    names,
    st.lists(st.sampled_from(ATTRIBUTES), max_size=4),
)
soup = st.lists(
    st.one_of(
        openings,
        names.map(lambda tag: f"</{tag}>"),
        st.text(max_size=8),
        st.sampled_from(
            ["<!--", "-->", "<![CDATA[", "]]>", "<", "&", "&amp", "&#xD800;", "\0", "\ud800", "5 €"]
        ),
    ),
    max_size=60,
).map("".join)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["Product", "Offer", "BreadcrumbList", "5.00", "EUR", "InStock", URL]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(KEYS),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


def check(html: str) -> None:
    for target in ("page", "product"):
        record = extract(html, URL, target, links=True)
        assert re.fullmatch("[0-9a-f]{64}", record.text_hash)
        for text in (
            record.title,
            record.h1,
            record.data.sku,
            record.data.brand,
            record.seo.meta_description,
        ):
            assert text is None or text == " ".join(text.split()) != ""
        for link in (*record.links, *record.data.images, *(url for _, url in record.seo.hreflang)):
            assert urlsplit(link).scheme in ("http", "https")
        assert data_from(data_json(record)) == record.data
        assert seo_from(seo_json(record)) == record.seo
        assert extract(html, URL, target, links=True) == record


@given(st.text())
def test_any_text(html: str) -> None:
    check(html)


@given(st.binary(max_size=500), st.sampled_from(["utf-8", "latin-1", "utf-16-le", "cp1252"]))
def test_any_bytes(body: bytes, encoding: str) -> None:
    check(body.decode(encoding, "replace"))


@given(soup)
@settings(max_examples=300)
def test_tag_soup(html: str) -> None:
    check(html)


@given(values)
@settings(max_examples=300)
def test_any_json(value: object) -> None:
    check(f'<script type="application/ld+json">{json.dumps(value)}</script>')


@given(st.integers(0, 40), st.integers(0, 6000), st.integers(0, 400), st.text(max_size=20))
def test_mutated_pages(number: int, at: int, length: int, put: str) -> None:
    html = page(number, 6000)
    check(html[:at] + put + html[at + length :])


@given(st.integers(1, 3000), st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES))
@settings(max_examples=30)
def test_deep_nesting(depth: int, tag: str, attribute: str) -> None:
    check(f"<{tag} {attribute}>" * depth + "x")


@given(
    st.text(alphabet="abcxyz123 \n<>&", max_size=40).filter(lambda text: "<" not in text and "&" not in text)
)
def test_missing_fields_are_none(text: str) -> None:
    record = extract(text, URL, "product", links=True)
    assert (record.title, record.h1, record.data, record.seo, record.links) == (
        None,
        None,
        Product(),
        Seo(),
        (),
    )


@given(
    st.text(alphabet="hts:/.?#=&%@xn-aZ09_~é \\|'\"", max_size=30),
    st.sampled_from(["", "/", "//", "https://", "?"]),
)
@settings(max_examples=500)
def test_urls_are_as_the_url_parser_gives_them(text: str, start: str) -> None:
    url = (start + text).strip()
    try:
        expected = join(URL, url) if url else None
    except InvalidUrl:
        expected = None
    assert Base(URL).absolute(url) == expected


@given(st.decimals(0, 10**9, places=2, allow_nan=False))
def test_prices_survive_their_notations(price: object) -> None:
    assert amount(str(price)) == amount(f"{price:,} €") == amount(float(str(price))) == price
