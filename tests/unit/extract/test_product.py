"""Products, by the source they are read from: small pages and what a person sees on them."""

from decimal import Decimal
from typing import Any

import pytest

from fyke.core.record import Product
from fyke.extract import extract

URL = "https://shop.example/p/1"


def product(html: str, url: str = URL) -> Product:
    return extract(html, url, "product").data


def json_ld(text: str) -> Product:
    return product(f'<script type="application/ld+json">{text}</script>')


def priced(value: str, code: str | None = None, **attrs: Any) -> Product:
    return Product(price=Decimal(value), currency=code, attrs=attrs)


def test_nothing_is_none() -> None:
    assert product("<p>no product") == Product()


def test_whole_product_in_json_ld() -> None:
    html = """<script type="application/ld+json">{
        "@context": "https://schema.org/", "@type": "Product", "name": "Kettle &amp; lid", "sku": "K-1",
        "gtin13": "4006381333931", "mpn": 77, "color": "red", "category": "Kitchen > Kettles",
        "brand": {"@type": "Brand", "name": "Acme"},
        "image": ["/1.jpg", "https://cdn.example/2.jpg", "/1.jpg"],
        "aggregateRating": {"@type": "AggregateRating", "ratingValue": "4.5", "reviewCount": 12},
        "offers": {"@type": "Offer", "price": "24.90", "priceCurrency": "EUR", "sku": "other",
            "availability": "https://schema.org/InStock", "itemCondition": "https://schema.org/NewCondition"}
        }</script>
        <script type="application/ld+json">{"@type": "BreadcrumbList", "itemListElement": [
            {"@type": "ListItem", "position": 2, "item": {"@id": "/c", "name": "Kitchen"}},
            {"@type": "ListItem", "position": 1, "name": "Home"}]}</script>"""
    assert product(html) == Product(
        price=Decimal("24.90"),
        currency="EUR",
        availability="in_stock",
        sku="K-1",
        brand="Acme",
        category="Kitchen > Kettles",
        breadcrumbs=("Home", "Kitchen"),
        images=("https://shop.example/1.jpg", "https://cdn.example/2.jpg"),
        attrs={
            "name": "Kettle & lid",
            "mpn": "77",
            "color": "red",
            "gtin": "4006381333931",
            "rating": {"value": Decimal("4.5"), "count": 12},
            "condition": "new",
        },
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"@type":"Product","offers":{"price":5,"priceCurrency":"EUR"}}',
        '{"@type":["Thing","Product"],"offers":[{"price":"5","priceCurrency":"EUR"}]}',
        '{"@type":"http://schema.org/Product","offers":{"price":5.0,"priceCurrency":"eur"}}',
        '{"@type":"schema:Product","offers":{"price":"5,00 €"}}',
        '[{"@type":"Organization"},[{"@type":"Product","offers":{"price":5,"priceCurrency":"€"}}]]',
        '{"@graph":[{"@type":"WebSite"},{"@type":"Product","offers":{"price":5,"priceCurrency":"EUR"}}]}',
        '{"@type":"WebPage","mainEntity":{"@type":"Product","offers":{"price":5,"priceCurrency":"EUR"}}}',
        '{"@graph":[{"@type":"Product","offers":{"@id":"#o"}},'
        '{"@id":"#o","@type":"Offer","price":5,"priceCurrency":"EUR"}]}',
        '{"@type":"Product","offers":{"priceSpecification":{"price":5,"priceCurrency":"EUR"}}}',
        '{"@type":"Product","offers":[{"price":""},{"price":5,"priceCurrency":"EUR"}],"x":1}',
        '{"@type":"Book","offers":{"price":5,"priceCurrency":"EUR"}}',
    ],
)
def test_where_json_ld_keeps_the_price(text: str) -> None:
    found = json_ld(text)
    assert (found.price, found.currency) == (Decimal(5), "EUR")


@pytest.mark.parametrize(
    "text",
    [
        '{"@type":"Product","sku":"a b",}',
        '{"@type":"Product","images":["x",],"sku":"a b"}',
        '{"@type":"Product","sku":"a\nb"}',
        '{"@type":"Product","sku":"a\tb"}',
        '<!-- {"@type":"Product","sku":"a b"} -->',
        '//<![CDATA[\n{"@type":"Product","sku":"a b"}\n//]]>',
        '/*<![CDATA[*/{"@type":"Product","sku":"a b"}/*]]>*/',
        '{"@type":"Product","sku":"a b"};',
        '\ufeff{"@type":"Product","sku":"a b"}',
        '{"@type":"Product",/* note */"sku":"a b" // note\n}',
        '{"@type":"Product","url":"http://a/*b*/","sku":"a b",}',
        r'{"@type":"Product","note":"it\'s","sku":"a b"}',
        r'{"@type":"Product","cut":"\ud83d","sku":"a b"}',
        "{&quot;@type&quot;:&quot;Product&quot;,&quot;sku&quot;:&quot;a b&quot;}",
    ],
)
def test_broken_json_is_mended(text: str) -> None:
    assert json_ld(text).sku == "a b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"@type":"Product","sku":"a',
        '"Product"',
        "null",
        "[" * 9000,
        "{" * 9000,
        '{"@type":"Product","x":NaN}',
    ],
)
def test_json_beyond_mending_is_passed_over(text: str) -> None:
    found = product(
        f'<script type="application/ld+json">{text}</script>'
        '<script type="application/ld+json">{"@type":"Product","sku":"next"}</script>'
    )
    assert found.sku == "next"


def test_commas_and_comments_within_strings_stay() -> None:
    assert json_ld('{"@type":"Product","sku":"a,] /* b */ // c","x":[1,],}').sku == "a,] /* b */ // c"


@pytest.mark.parametrize(
    "wrapping",
    ["<!-- {} -->", "<template>{}</template>", "<noscript>{}</noscript>", "<textarea>{}</textarea>"],
)
def test_json_ld_that_is_no_part_of_the_page_is_not_read(wrapping: str) -> None:
    script = '<script type="application/ld+json">{"@type":"Product","sku":"1"}</script>'
    assert product(wrapping.replace("{}", script)) == Product()


def test_script_type_in_other_spellings() -> None:
    assert (
        product(
            '<SCRIPT TYPE=\'Application/LD+JSON; charset=utf-8\'>{"@type":"Product","sku":1}</SCRIPT>'
        ).sku
        == "1"
    )


def test_aggregate_offer_gives_its_lowest_price_and_the_range() -> None:
    found = json_ld(
        '{"@type":"Product","offers":{"@type":"AggregateOffer","lowPrice":"10","highPrice":20.5,'
        '"priceCurrency":"USD","offerCount":2,"availability":"InStock"}}'
    )
    assert (found.price, found.currency, found.availability) == (Decimal(10), "USD", "in_stock")
    assert found.attrs == {"low_price": Decimal(10), "high_price": Decimal("20.50")}


def test_offers_within_an_aggregate_come_first() -> None:
    found = json_ld(
        '{"@type":"Product","offers":{"lowPrice":8,"highPrice":9,"priceCurrency":"EUR","offers":['
        '{"price":9,"priceCurrency":"EUR","availability":"OutOfStock","sku":"S9"}]}}'
    )
    assert found.attrs["low_price"] == 8
    assert found.sku == "S9"


def test_struck_through_price_is_the_list_price() -> None:
    found = json_ld(
        '{"@type":"Product","offers":{"price":8,"priceCurrency":"EUR","priceSpecification":'
        '[{"priceType":"https://schema.org/StrikethroughPrice","price":10,"priceCurrency":"EUR"}]}}'
    )
    assert found == priced("8", "EUR", list_price=Decimal(10))


VARIANTS = (
    '{"@type":"ProductGroup","name":"Shirt","hasVariant":['
    '{"@type":"Product","sku":"S","size":"S","url":"https://shop.example/p/1?s=S",'
    '"offers":{"price":10,"priceCurrency":"EUR","availability":"OutOfStock"}},'
    '{"@type":"Product","sku":"M","size":"M","url":"https://shop.example/p/1?s=M",'
    '"offers":{"price":12,"priceCurrency":"EUR","availability":"InStock"}}]}'
)


@pytest.mark.parametrize(("query", "sku", "price"), [("", "S", 10), ("?s=S", "S", 10), ("?s=M", "M", 12)])
def test_the_variant_at_the_address_is_shown(query: str, sku: str, price: int) -> None:
    found = product(f'<script type="application/ld+json">{VARIANTS}</script>', URL + query)
    assert (found.sku, found.price) == (sku, Decimal(price))
    assert [variant["sku"] for variant in found.attrs["variants"]] == ["S", "M"]
    assert found.attrs["variants"][1]["availability"] == "in_stock"


def test_of_several_products_the_one_under_the_heading_is_meant() -> None:
    found = product(
        '<h1>Lamp</h1><script type="application/ld+json">['
        '{"@type":"Product","name":"Chair","sku":"C","offers":{"price":1}},'
        '{"@type":"Product","name":"Lamp","sku":"L","offers":{"price":2}}]</script>'
    )
    assert found.sku == "L"


def test_of_several_products_the_one_at_the_address_is_meant() -> None:
    found = product(
        '<h1>Chair</h1><script type="application/ld+json">['
        '{"@type":"Product","name":"Chair","sku":"C","offers":{"price":1}},'
        f'{{"@type":"Product","name":"Lamp","sku":"L","url":"{URL}"}}]</script>'
    )
    assert found.sku == "L"


def test_microdata() -> None:
    html = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop=name>Lamp</h1>
        <meta itemprop=sku content="L-1"><img itemprop=image src="/l.jpg"><img itemprop="image" src="/m.jpg">
        <span itemprop="brand" itemscope itemtype="https://schema.org/Brand"><b itemprop=name>Acme</b></span>
        <div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
          <span itemprop="price" content="1299.00">1.299,00</span> <span itemprop="priceCurrency">EUR</span>
          <link itemprop="availability" href="https://schema.org/LimitedAvailability"></div>
        <div itemprop="aggregateRating" itemscope>
          <i itemprop=ratingValue>4,5</i><i itemprop=reviewCount>8</i></div>
        </div>
        <ol itemscope itemtype="https://schema.org/BreadcrumbList">
          <li itemprop=itemListElement itemscope><a itemprop=item href="/"><i itemprop=name>Home</i></a></li>
          <li itemprop=itemListElement itemscope><a itemprop=item href="/c"><i itemprop=name>Den</i></a></li>
        </ol>"""
    assert product(html) == Product(
        price=Decimal(1299),
        currency="EUR",
        availability="limited",
        sku="L-1",
        brand="Acme",
        category="Den",
        breadcrumbs=("Home", "Den"),
        images=("https://shop.example/l.jpg", "https://shop.example/m.jpg"),
        attrs={"name": "Lamp", "rating": {"value": Decimal("4.5"), "count": 8}},
    )


def test_microdata_of_other_products_is_not_mixed_in() -> None:
    html = """<div itemscope itemtype="https://schema.org/Product"><i itemprop=sku>own</i>
        <div itemprop="isSimilarTo" itemscope itemtype="https://schema.org/Product"><i itemprop=sku>other</i>
        <i itemprop=brand>Other</i></div></div>"""
    assert product(html) == Product(sku="own")


def test_microdata_in_templates_and_comments_is_not_read() -> None:
    item = '<div itemscope itemtype="https://schema.org/Product"><i itemprop=sku>x</i></div>'
    assert product(f"<template>{item}</template><!-- {item} -->") == Product()


def test_rdfa() -> None:
    html = """<div vocab="https://schema.org/" typeof="Product"><span property="name">Lamp</span>
        <span property="sku">L-1</span><div property="offers" typeof="Offer">
        <meta property="price" content="5.5">
        <meta property="priceCurrency" content="EUR">
        <link property="availability" href="https://schema.org/InStock">
        </div></div>"""
    assert product(html) == Product(
        price=Decimal("5.50"), currency="EUR", availability="in_stock", sku="L-1", attrs={"name": "Lamp"}
    )


def test_open_graph() -> None:
    html = """<meta property="og:type" content="og:product"><meta property="og:image" content="/1.jpg">
        <meta property="og:image" content="/2.jpg"><meta property="product:price:amount" content="12.00">
        <meta property="product:price:currency" content="EUR">
        <meta property="product:sale_price:amount" content="9.00">
        <meta property="product:availability" content="oos"><meta property="product:brand" content="Acme">
        <meta property="product:retailer_item_id" content="R-1">
        <meta property="product:category" content="Lamps">
        <meta property="product:ean" content="4006381333931">"""
    assert product(html) == Product(
        price=Decimal(9),
        currency="EUR",
        availability="out_of_stock",
        sku="R-1",
        brand="Acme",
        category="Lamps",
        images=("https://shop.example/1.jpg", "https://shop.example/2.jpg"),
        attrs={"list_price": Decimal(12), "gtin": "4006381333931"},
    )


def test_open_graph_of_an_article_makes_no_product() -> None:
    assert (
        product('<meta property="og:type" content="article"><meta property="og:image" content="/1.jpg">')
        == Product()
    )


def test_itemprop_without_an_item() -> None:
    html = '<i itemprop="price">12,50 €</i><b itemprop="brand">Acme</b><i itemprop=availability>Sold out</i>'
    assert product(html) == Product(
        price=Decimal("12.50"), currency="EUR", availability="out_of_stock", brand="Acme"
    )


@pytest.mark.parametrize(
    "html",
    [
        '<nav class="breadcrumb"><ol><li><a href=/>Home</a></li><li>Tools</li><li>Saw</li></ol></nav>',
        '<div class="c-Breadcrumbs"><a>Home</a> / <a>Tools</a> / <a>Saw</a></div>',
        '<nav aria-label="Breadcrumb"><ul><li>Home ›</li><li>Tools ›</li><li>Saw</li></ul></nav>',
        '<ul id="breadcrumb"><li>Home</li><li><a>Tools</a></li><li></li><li>Saw</li></ul>',
    ],
)
def test_breadcrumbs_of_the_navigation(html: str) -> None:
    found = product(f"<h1>Saw</h1>{html}")
    assert found == Product(breadcrumbs=("Home", "Tools", "Saw"), category="Tools")


def test_the_only_breadcrumb_is_no_category() -> None:
    assert product("<h1>Saw</h1><ul class=breadcrumb><li>Home</li><li>Saw</li></ul>").category is None


def test_sources_complete_each_other_and_their_prices_are_told() -> None:
    html = """<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":{"price":5}}
        </script>
        <div itemscope itemtype="https://schema.org/Product"><i itemprop=sku>L-1</i>
        <div itemprop=offers itemscope><i itemprop=price>6</i><i itemprop=priceCurrency>EUR</i></div></div>
        <meta property="product:price:amount" content="5.00"><meta property="product:brand" content="Acme">"""
    assert product(html) == Product(
        price=Decimal(5),
        currency="EUR",
        sku="L-1",
        brand="Acme",
        attrs={
            "name": "Lamp",
            "prices": {"json_ld": Decimal(5), "microdata": Decimal(6), "open_graph": Decimal(5)},
        },
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"@type":"Product","offers":"free","brand":7,"image":{"a":1},"aggregateRating":"5","hasVariant":"x"}',
        '{"@type":"Product","offers":[[1]],"brand":[[]],"image":[null,[],{}],"aggregateRating":[[]],"sku":[]}',
        '{"@type":{"a":1},"offers":{"price":{"a":1},"priceCurrency":[1],"availability":{"@id":"InStock"}}}',
        '{"@type":"Product","offers":{"priceSpecification":[1,{"price":[],"priceType":{"a":1}}],"lowPrice":true}}',
        '{"@type":["BreadcrumbList",1,null],"itemListElement":[1,{"position":{}},{"position":"x","item":7}]}',
        '{"@type":"BreadcrumbList","itemListElement":{"position":1e999,"name":["a"]}}',
        '{"@graph":{"@graph":{"@graph":[[[[[[[[{"@type":"Product"}]]]]]]]]}},"mainEntity":7}',
        '{"@type":"Product","sku":' + "9" * 4300 + "}",
    ],
)
def test_properties_of_the_wrong_kind_are_left_out(text: str) -> None:
    found = json_ld(text)
    assert (found.price, found.brand, found.images) == (None, found.brand, ())
