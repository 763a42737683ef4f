"""Product pages of made-up shops, as varied as shops are: for measuring and for property tests."""

import json
from random import Random

VOCABULARY = """
amber basket cedar delta ember falcon granite harbour indigo juniper kettle lantern meadow nickel
orchard pepper quartz ridge saffron timber umber velvet willow xenon yarrow zephyr bolt hinge
lamp chair table drill saw hammer wrench shelf curtain carpet blanket pillow mirror vase
candle clock
"""
WORDS = VOCABULARY.split()
CURRENCIES = ("EUR", "USD", "GBP", "SEK", "PLN", "CHF")
AVAILABILITY = ("InStock", "OutOfStock", "PreOrder", "BackOrder", "LimitedAvailability")
STYLES = ("jsonld", "graph", "microdata", "opengraph", "plain")
ICON = '<svg class="icon icon-{0}" viewBox="0 0 24 24" aria-hidden="true"><path d="{1}"/></svg>'


def words(random: Random, low: int, high: int) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(low, high)))


def icon(random: Random) -> str:
    path = "M" + " ".join(f"{random.randint(0, 24)}.{random.randint(0, 99)}" for _ in range(20)) + "z"
    return ICON.format(random.choice(WORDS), path)


def head(random: Random, name: str, number: int, style: str) -> str:
    about = words(random, 12, 24)
    rows = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name} | Shop &amp; Co</title>",
        f'<meta name="description" content="{about}">',
        f'<link rel="canonical" href="https://shop.example/p/{number}">',
        '<meta name="robots" content="index,follow">',
        f'<meta property="og:title" content="{name}">',
        f'<meta property="og:description" content="{about}">',
        f'<meta property="og:image" content="https://cdn.example/{number}/1.jpg">',
        f'<meta property="og:type" content="{"product" if style == "opengraph" else "website"}">',
        '<meta name="twitter:card" content="summary_large_image">',
        f'<meta name="twitter:title" content="{name}">',
        f'<meta name="twitter:description" content="{about}">',
    ]
    rows += [
        f'<link rel="alternate" hreflang="{code}" href="https://shop.example/{code}/p/{number}">'
        for code in random.sample(["de", "en-gb", "fr", "pl", "sv", "x-default"], 4)
    ]
    rows += [f'<link rel="preload" as="script" href="/assets/{w}.{number:08x}.js">' for w in WORDS[:6]]
    rows += [f'<link rel="stylesheet" href="/assets/{w}.css?v={number}">' for w in WORDS[6:9]]
    css = "".join(
        f".{random.choice(WORDS)}-{i}{{margin:{i}px;color:#{random.randint(0, 0xFFFFFF):06x}}}"
        for i in range(60)
    )
    state = json.dumps({random.choice(WORDS): words(random, 2, 6) for _ in range(30)})
    rows += [f"<style>{css}</style>", f"<script>window.dataLayer=[];window.__STATE__={state};</script>"]
    return "\n  ".join(rows)


def product_json(random: Random, name: str, number: int, price: str, currency: str) -> dict[str, object]:
    return {
        "@context": "https://schema.org/",
        "@type": "Product",
        "name": name,
        "description": words(random, 20, 60),
        "sku": f"SKU-{number:06d}",
        "gtin13": f"40{number:011d}",
        "brand": {"@type": "Brand", "name": random.choice(WORDS).title()},
        "image": [f"https://cdn.example/{number}/{i}.jpg" for i in range(1, random.randint(2, 7))],
        "aggregateRating": {"@type": "AggregateRating", "ratingValue": "4.4", "reviewCount": "89"},
        "offers": {
            "@type": "Offer",
            "url": f"https://shop.example/p/{number}",
            "priceCurrency": currency,
            "price": price,
            "availability": "https://schema.org/" + random.choice(AVAILABILITY),
        },
        "review": [
            {
                "@type": "Review",
                "author": {"@type": "Person", "name": random.choice(WORDS).title()},
                "reviewBody": words(random, 10, 30),
                "reviewRating": {"@type": "Rating", "ratingValue": str(random.randint(1, 5))},
            }
            for _ in range(random.randint(0, 4))
        ],
    }


def crumbs_json(names: list[str]) -> dict[str, object]:
    return {
        "@context": "https://schema.org",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": i, "name": n, "item": f"https://shop.example/c/{i}"}
            for i, n in enumerate(names, 1)
        ],
    }


def structured(
    random: Random, style: str, name: str, number: int, crumbs: list[str], price: str, currency: str
) -> str:
    if style not in ("jsonld", "graph"):
        return ""
    things = [product_json(random, name, number, price, currency), crumbs_json(crumbs)]
    tag = '<script type="application/ld+json">{}</script>'
    if style == "graph":
        return tag.format(json.dumps({"@context": "https://schema.org", "@graph": things}, indent=2))
    return "".join(tag.format(json.dumps(thing)) for thing in things)


def gallery(random: Random, number: int, count: int) -> str:
    return "".join(
        f'<li class="gallery__item"><img class="gallery__image" loading="lazy" width="800" height="800" '
        f'src="https://cdn.example/{number}/{i}.jpg" srcset="https://cdn.example/{number}/{i}.jpg 1x, '
        f'https://cdn.example/{number}/{i}@2x.jpg 2x" alt="{words(random, 2, 5)}"></li>'
        for i in range(1, count)
    )


def buy_box(random: Random, style: str, name: str, number: int, price: str, currency: str) -> str:
    amount = f'<span class="price__amount" data-price="{price}">{price}&nbsp;{currency}</span>'
    inner = f'<h1 class="product__title">{name}</h1>'
    if style == "microdata":
        offer = (
            '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">'
            f'<meta itemprop="priceCurrency" content="{currency}"><span itemprop="price" content="{price}">'
            f'{price}</span><link itemprop="availability" href="https://schema.org/InStock"></div>'
        )
        inner = (
            f'<h1 itemprop="name">{name}</h1><span itemprop="sku">SKU-{number:06d}</span>'
            f'<span itemprop="brand">{random.choice(WORDS).title()}</span>{offer}'
        )
    elif style == "opengraph":
        inner += (
            f'<meta property="product:price:amount" content="{price}">'
            f'<meta property="product:price:currency" content="{currency}">{amount}'
        )
    else:
        inner += amount
    scope = ' itemscope itemtype="https://schema.org/Product"' if style == "microdata" else ""
    options = "".join(f'<option value="{i}">{words(random, 1, 2)}</option>' for i in range(6))
    return (
        f'<section class="product"{scope}>{inner}<ul class="gallery">'
        f'{gallery(random, number, random.randint(3, 9))}</ul><form action="/cart" method="post">'
        f'<label for="option">Variant</label><select id="option" name="option">{options}</select>'
        f'<button type="submit" class="button button--primary">Add to basket</button></form></section>'
    )


def review(random: Random) -> str:
    return (
        f'<article class="review" data-id="{random.randint(1, 10**6)}"><h3>{words(random, 3, 6)}</h3>'
        f'<p class="review__meta">by <b>{random.choice(WORDS).title()}</b> on '
        f'<time datetime="2026-01-{random.randint(1, 28):02d}">January</time></p>'
        f"<p>{words(random, 20, 60)} &ndash; {words(random, 5, 20)}</p></article>"
    )


def card(random: Random) -> str:
    other = random.randint(1, 10**6)
    return (
        f'<li class="card"><a class="card__link" href="/p/{other}?ref=similar"><img class="card__image" '
        f'src="/img/{other}.jpg" alt="{words(random, 2, 4)}"><span class="card__name">{words(random, 2, 5)}'
        f'</span></a><span class="card__price">{random.randint(1, 400)}.99</span></li>'
    )


def page(number: int, size: int = 30_000, style: str | None = None) -> str:
    """Page `number`, about `size` characters long; the same number gives the same page."""
    random = Random(number)
    style = style or STYLES[number % len(STYLES)]
    name = words(random, 2, 5).title()
    price = f"{random.randint(1, 2000)}.{random.randint(0, 99):02d}"
    currency = random.choice(CURRENCIES)
    crumbs = ["Home", *(random.choice(WORDS).title() for _ in range(random.randint(1, 3)))]
    trail = "".join(f'<li><a href="/c/{i}">{c}</a></li>' for i, c in enumerate(crumbs))
    menu = "".join(
        f'<li class="nav__item"><a class="nav__link" href="/c/{i}">{words(random, 1, 2)}</a></li>'
        for i in range(random.randint(12, 30))
    )
    foot = "".join(f'<li><a href="/info/{w}">{w.title()}</a></li>' for w in WORDS[: random.randint(6, 16)])
    parts = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n  {head(random, name, number, style)}\n',
        structured(random, style, name, number, crumbs, price, currency),
        f'</head>\n<body class="template-product">\n<header>{icon(random)}{icon(random)}'
        f'<form role="search"><input type="search" name="q" placeholder="Search"></form></header>\n'
        f'<nav class="nav"><ul>{menu}</ul></nav>\n<!-- breadcrumb -->\n'
        f'<nav class="breadcrumb" aria-label="Breadcrumb"><ol>{trail}</ol></nav>\n<main>\n',
        buy_box(random, style, name, number, price, currency),
        f'<div class="description"><h2>Description</h2><p>{words(random, 60, 120)}</p></div>\n',
    ]
    footer = (
        f"</ul></section></main>\n<footer><ul>{foot}</ul><noscript><img src='https://t.example/p.gif' alt=''>"
        f"</noscript></footer>\n<script>{'function f(a,b){return a<b&&b>a}' * 40}</script></body>\n</html>\n"
    )
    length = sum(map(len, parts)) + len(footer)
    while length < size * 0.8:
        parts.append(review(random) + "\n")
        length += len(parts[-1])
    parts.append('<section class="similar"><h2>You may also like</h2><ul>\n')
    parts += [card(random) + "\n" for _ in range(random.randint(6, 10))]
    parts.append(footer)
    return "".join(parts)
