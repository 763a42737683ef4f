"""What a page tells search engines and link previews."""

import pytest

from fyke.core.record import Seo
from fyke.extract import extract

URL = "https://shop.example/a/b"


def seo(html: str) -> Seo:
    return extract(html, URL, "page").seo


def test_all_fields() -> None:
    html = """<!doctype html><html><head>
        <meta name="description" content="  About
            tea "><meta name=robots content="noindex,follow">
        <meta property="og:title" content="OG title"><meta property="og:description" content="OG text">
        <meta property="og:image" content="/og.jpg">
        <meta name="twitter:title" content="T title"><meta name="twitter:description" content="T text">
        <link rel="canonical" href="../c?x=1#part">
        <link rel="alternate" hreflang="de-AT" href="/at/">
        <link rel="alternate" hreflang="x-default" href="/">
        <link rel="alternate" type="application/rss+xml" href="/feed"><link rel="stylesheet" href="/s.css">
        </head><body><img alt="One"><img alt=""><img><img alt=" Two  words "></body></html>"""
    assert seo(html) == Seo(
        meta_description="About tea",
        og_title="OG title",
        og_description="OG text",
        og_image="https://shop.example/og.jpg",
        twitter_title="T title",
        twitter_description="T text",
        canonical="https://shop.example/c?x=1",
        robots="noindex,follow",
        hreflang=(("de-AT", "https://shop.example/at/"), ("x-default", "https://shop.example/")),
        images_alt=("One", "Two words"),
    )


def test_missing_fields_are_none() -> None:
    assert seo("<p>nothing of the kind</p>") == Seo()


@pytest.mark.parametrize(
    "html",
    [
        '<META NAME="Description" CONTENT="found">',
        "<meta content=found name=description>",
        "<meta name=description content='found'><meta name=description content=second>",
        "<meta name=description content=''><meta name=description content=found>",
        "<meta name=description content='  '><meta name=description content=found>",
        "<!-- <meta name=description content=comment> --><meta name=description content=found>",
        "<script>'<meta name=description content=script>'</script><meta name=description content=found>",
        "<noscript><meta name=description content=noscript></noscript><meta name=description content=found>",
        "<template><meta name=description content=template></template><meta name=description content=found>",
        "<body><div><meta name=description content=found></div>",
        "<div>a stray tag ends the head</div><meta name=description content=found>",
        '<meta name="description" property="og:description" content="found">',
        "<meta name=description content=&#102;ound>",
    ],
)
def test_description(html: str) -> None:
    assert seo(html).meta_description == "found"


def test_name_and_property_may_be_mixed_up() -> None:
    found = seo('<meta name="og:title" content="a"><meta property="twitter:title" content="b">')
    assert (found.og_title, found.twitter_title) == ("a", "b")


def test_one_meta_may_say_two_things() -> None:
    found = seo('<meta name="twitter:title" property="og:title" content="a">')
    assert (found.og_title, found.twitter_title) == ("a", "a")


@pytest.mark.parametrize(
    ("link", "canonical"),
    [
        ("<link rel=canonical href=https://shop.example/p>", "https://shop.example/p"),
        ("<LINK REL=CANONICAL HREF=/p>", "https://shop.example/p"),
        ("<link rel='shortlink canonical' href='/p'>", "https://shop.example/p"),
        ("<link rel=canonical><link rel=canonical href=/p>", "https://shop.example/p"),
        ("<link rel=canonical href='HTTPS://Shop.Example:443/./p'>", "https://shop.example/p"),
        ("<link rel=canonical href='javascript:1'>", None),
        ("<link href=/p>", None),
        ("<!--<link rel=canonical href=/p>-->", None),
    ],
)
def test_canonical(link: str, canonical: str | None) -> None:
    assert seo(link).canonical == canonical


def test_alts_of_unseen_images_are_left_out() -> None:
    html = (
        "<noscript><img alt=a></noscript><template><img alt=b></template><!--<img alt=c>--><img alt='d&gt;e'>"
    )
    assert seo(html).images_alt == ("d>e",)
