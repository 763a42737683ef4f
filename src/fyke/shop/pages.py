"""The pages of the shop as HTML."""

import json
from collections.abc import Sequence
from html import escape
from random import Random
from typing import Any, Final

from fyke.shop.catalogue import IN_STOCK, Item
from fyke.shop.layout import NAME, Head, page
from fyke.shop.words import ARTICLES, CATEGORIES, COLOURS, PRAISE, SCRIPTS, Category

__all__ = ["PER_PAGE", "article", "home", "journal", "listing", "markup_of", "message", "product"]

PER_PAGE: Final = 12
SIGNS: Final = {"EUR": "€", "GBP": "£"}
STOCK: Final = {
    "InStock": "In stock, sent within a day",
    "OutOfStock": "Sold out for now",
    "PreOrder": "Order now, ready next month",
    "LimitedAvailability": "Only a few left",
    "BackOrder": "On order from the workshop",
}


def markup_of(item: Item) -> str:
    """Which structured data its page carries: most have JSON-LD, as shops do."""
    if item.number % 7 == 3:
        return "microdata"
    if item.number % 11 == 6:
        return "opengraph"
    return "graph" if item.number % 5 == 4 else "jsonld"


def product(item: Item, base: str, others: Sequence[Item], script: int | None, noindex: bool) -> str:
    """A product's page, in the character set of SCRIPTS[script] or in UTF-8."""
    charset, sentence = SCRIPTS[script] if script is not None else ("utf-8", "")
    markup = markup_of(item)
    head = Head(
        title=item.title,
        description=f"{item.title} by {item.brand}: {item.category.blurb}",
        canonical=base + item.path,
        image=f"{base}/img/{item.slug}-1.svg",
        kind="product",
        robots="noindex, follow" if noindex else None,
        charset=charset,
        more=_structured(item, base, markup),
    )
    return page(head, _product_body(item, markup == "microdata", sentence, others))


def home(base: str, items: Sequence[Item]) -> str:
    tiles = "".join(
        [
            f'<li class="card"><a href="/c/{one.slug}">'
            f'<img src="/img/c-{one.slug}.svg" alt="" loading="lazy" width="400" height="400">'
            f"<b>{escape(one.name)}</b><small>{escape(one.blurb)}</small></a></li>"
            for one in CATEGORIES
        ]
    )
    fresh = "".join([_card(item) for item in items[-8:]])
    text = "Useful things for the house, the garden and the desk, made by people we can telephone."
    head = Head(NAME, text, base + "/", more=_json({"@type": "OnlineStore", "name": NAME, "url": base + "/"}))
    return page(
        head,
        f'<h1>{escape(NAME)}</h1><p>{text}</p><ul class="grid">{tiles}</ul>'
        f'<h2>Just in</h2><ul class="grid">{fresh}</ul>',
    )


def listing(category: Category, base: str, items: Sequence[Item], number: int) -> str:
    """Page `number` of a category."""
    pages = max(1, -(-len(items) // PER_PAGE))
    shown = items[(number - 1) * PER_PAGE : number * PER_PAGE]
    path = f"/c/{category.slug}"
    links = "".join(
        [
            f"<b>{n}</b>" if n == number else f'<a href="{path}{f"?page={n}" if n > 1 else ""}">{n}</a>'
            for n in range(1, pages + 1)
        ]
    )
    elements = [
        {"@type": "ListItem", "position": i, "url": base + item.path} for i, item in enumerate(shown, 1)
    ]
    query = f"?page={number}" if number > 1 else ""
    head = Head(
        title=f"{category.name}, page {number}" if number > 1 else category.name,
        description=category.blurb,
        canonical=base + path + query,
        more=_json({"@type": "ItemList", "itemListElement": elements}),
    )
    return page(
        head,
        f"{_trail([(category.group, None), (category.name, None)])}<h1>{escape(category.name)}</h1>"
        f"<p>{escape(category.blurb)} {len(items)} products.</p>"
        f'<ul class="grid">{"".join([_card(item) for item in shown])}</ul>'
        f'<nav class="pages" aria-label="Pages">{links}</nav>',
    )


def journal(base: str) -> str:
    entries = "".join(
        [
            f'<li class="card"><a href="/journal/{slug}"><b>{escape(title)}</b>'
            f"<small>{escape(text)}</small></a></li>"
            for slug, title, text in ARTICLES
        ]
    )
    head = Head("Journal", "Notes from the workshop and the counter.", base + "/journal")
    return page(head, f'<h1>Journal</h1><ul class="grid">{entries}</ul>')


def article(number: int, base: str, published: str) -> str:
    slug, title, text = ARTICLES[number]
    random = Random(slug)  # noqa: S311 - made-up text, nothing secret
    paragraphs = "".join([f"<p>{' '.join(random.sample(PRAISE, 4))}</p>" for _ in range(4)])
    said = {"@type": "Article", "headline": title, "datePublished": published, "description": text}
    head = Head(title, text, f"{base}/journal/{slug}", kind="article", more=_json(said))
    return page(head, f"<article><h1>{escape(title)}</h1><p><i>{escape(text)}</i></p>{paragraphs}</article>")


def message(base: str, path: str, title: str, text: str, robots: str | None = None) -> str:
    """A page that says one thing."""
    head = Head(title, text, base + path, robots=robots)
    return page(head, f'<h1>{escape(title)}</h1><p>{escape(text)}</p><p><a href="/">To the shop</a></p>')


def _product_body(item: Item, micro: bool, sentence: str, others: Sequence[Item]) -> str:
    def prop(name: str) -> str:
        return f' itemprop="{name}"' if micro else ""

    images = "".join(
        [
            f'<img src="/img/{item.slug}-{n}.svg" alt="{escape(item.name)}, view {n}"'
            f' width="400" height="400"{prop("image")}>'
            for n in (1, 2, 3)
        ]
    )
    big, thumbs = images.split(">", 1)
    scope = ' itemscope itemtype="https://schema.org/Product"' if micro else ""
    offer = ' itemprop="offers" itemscope itemtype="https://schema.org/Offer"' if micro else ""
    hidden = (
        f'<meta itemprop="priceCurrency" content="{item.currency}">'
        f'<meta itemprop="price" content="{item.price}">'
        f'<link itemprop="availability" href="https://schema.org/{item.availability}">'
        if micro
        else ""
    )
    shelf = f"/c/{item.category.slug}"
    trail = _trail([(item.category.group, None), (item.category.name, shelf), (item.name, None)])
    return f"""{trail}
<div class="product"{scope}>
<div>{big}><div class="thumbs">{thumbs}</div></div>
<div><h1{prop("name")}>{escape(item.title)}</h1>
<div class="by">by <span{prop("brand")}>{escape(item.brand)}</span></div>
<div{offer}><p class="price">{_money(item)}</p>{hidden}<p class="stock">{STOCK[item.availability]}</p></div>
<button type="button"{"" if item.availability == IN_STOCK else " disabled"}>Put in the basket</button>
<div class="description"{prop("description")}>{_description(item, sentence)}</div>
{_facts(item, prop("sku"))}</div></div>
<h2>Goes well with</h2><ul class="grid">{"".join([_card(one, bare=True) for one in others])}</ul>"""


def _description(item: Item, sentence: str) -> str:
    random = Random(item.slug)  # noqa: S311 - made-up text, nothing secret
    paragraphs = [" ".join(random.sample(PRAISE, 3)) for _ in range(2)]
    if sentence:
        paragraphs.append(sentence)
    return "".join([f"<p>{escape(one)}</p>" for one in paragraphs])


def _facts(item: Item, sku: str) -> str:
    material = next(one for one in item.category.materials if f" {one} " in f" {item.name} ")
    return f"""<table class="facts">
<tr><th>Article number</th><td{sku}>{item.sku}</td></tr>
<tr><th>Material</th><td>{material}</td></tr>
<tr><th>Colour</th><td>{COLOURS[item.colour][0]}</td></tr>
<tr><th>Width</th><td>{8 + item.number % 60} cm</td></tr>
<tr><th>Rating</th><td>{item.rating} of 5 ({item.reviews} reviews)</td></tr></table>"""


def _card(item: Item, *, bare: bool = False) -> str:
    """A product in a list. What goes well with another shows no price: that page must not change with it."""
    name = item.name if bare else item.title
    price = "" if bare else f"<small>{_money(item)}</small>"
    return (
        f'<li class="card"><a href="{item.path}"><img src="/img/{item.slug}-1.svg" alt="" loading="lazy" '
        f'width="400" height="400"><b>{escape(name)}</b>{price}</a></li>'
    )


def _trail(steps: Sequence[tuple[str, str | None]]) -> str:
    names = "".join(
        [
            f'<li><a href="{path}">{escape(name)}</a></li>' if path else f"<li>{escape(name)}</li>"
            for name, path in [("Home", "/"), *steps]
        ]
    )
    return f'<nav class="breadcrumb" aria-label="Breadcrumb"><ol>{names}</ol></nav>'


def _money(item: Item) -> str:
    return f"{SIGNS[item.currency]}{item.price:,.2f}"


def _structured(item: Item, base: str, markup: str) -> str:
    if markup == "microdata":
        return ""
    if markup == "opengraph":
        return "\n".join(
            [
                f'<meta property="product:price:amount" content="{item.price}">',
                f'<meta property="product:price:currency" content="{item.currency}">',
                f'<meta property="product:availability" content="{item.availability}">',
                f'<meta property="product:brand" content="{escape(item.brand)}">',
                f'<meta property="product:retailer_item_id" content="{item.sku}">',
            ]
        )
    said, trail = _described(item, base), _crumbs(item, base)
    if markup == "graph":
        return _json({"@graph": [trail, said]})
    return _json(said) + "\n" + _json(trail)


def _described(item: Item, base: str) -> dict[str, Any]:
    return {
        "@type": "Product",
        "@id": f"{base}{item.path}#product",
        "name": item.title,
        "sku": item.sku,
        "brand": {"@type": "Brand", "name": item.brand},
        "category": f"{item.category.group} > {item.category.name}",
        "color": COLOURS[item.colour][0],
        "image": [f"{base}/img/{item.slug}-{n}.svg" for n in (1, 2, 3)],
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": str(item.rating),
            "reviewCount": item.reviews,
        },
        "offers": {
            "@type": "Offer",
            "url": base + item.path,
            "price": str(item.price),
            "priceCurrency": item.currency,
            "availability": f"https://schema.org/{item.availability}",
        },
    }


def _crumbs(item: Item, base: str) -> dict[str, Any]:
    steps = [
        ("Home", base + "/"),
        (item.category.group, None),
        (item.category.name, f"{base}/c/{item.category.slug}"),
        (item.name, base + item.path),
    ]
    elements = [
        {"@type": "ListItem", "position": i, "name": name, **({"item": url} if url else {})}
        for i, (name, url) in enumerate(steps, 1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": elements}


def _json(said: dict[str, Any]) -> str:
    """As a script: ASCII alone, whatever the page's character set, and no way out of the element."""
    text = json.dumps({"@context": "https://schema.org", **said}).replace("<", "\\u003c")
    return f'<script type="application/ld+json">{text}</script>'
