"""The shop that everybody crawls, peers of `make bench` included: product pages made from a seed, the same
bytes on every machine."""

import json
from html import escape
from random import Random

from msgspec import Struct

__all__ = ["COUNT", "page", "url"]

COUNT = 200
SITE = "https://shop.example"
"""What canonical links and structured data say. The pages are served from another address."""

TEXT = """
alder amber anchor arch autumn basin birch blade bolt border branch bridge bright brook cedar chalk clay
cliff cloud coast copper cord cotton crest curve dawn deep delta drift dune dusk earth east edge elm
ember fern field flint flow forge frame frost garden glass glow grain granite grove harbour hazel heather
hill hollow horizon iron island ivory ivy juniper kettle lake lantern larch leaf ledge light linen loom
maple marsh meadow mist moor moss north oak ocean olive orchard path pebble pine plain pond quarry quartz
rain reed ridge river rock root rope sand shade shore silver slate smoke snow spring spruce stone storm
stream summer tide timber trail valley wave willow wind
"""
WORDS = TEXT.split()
BRANDS = (
    "Alderbrook",
    "Fjellberg",
    "Hällgren & Co",
    "Marsh & Reed",
    "Norrvik",
    "O'Dell",
    "Quartzworks",
    "Tarn",
)
KINDS = {
    "Kitchen": ("kettle", "pan", "board", "carafe", "grinder"),
    "Lighting": ("lamp", "lantern", "sconce", "spotlight"),
    "Outdoor": ("tent", "stove", "hammock", "rucksack"),
    "Textiles": ("blanket", "towel", "cushion", "throw"),
    "Tools": ("chisel", "plane", "mallet", "spirit level"),
}
COLOURS = ("black", "blue", "green", "grey", "red", "sand", "white")
AVAILABILITY = ("InStock", "InStock", "InStock", "OutOfStock", "PreOrder", "BackOrder")
CURRENCIES = ("EUR", "EUR", "USD", "GBP", "SEK")
LANGUAGES = ("en", "de", "fr", "sv", "nl")


class Product(Struct, frozen=True):
    number: int
    name: str
    kind: str
    category: str
    brand: str
    colour: str
    sku: str
    price: str
    currency: str
    availability: str
    rating: str
    description: str
    images: tuple[tuple[str, str], ...]

    @property
    def url(self) -> str:
        return f"{SITE}/p/{self.number:04d}.html"


def _sentence(random: Random, low: int = 7, high: int = 15) -> str:
    words = random.choices(WORDS, k=random.randint(low, high))
    return " ".join(words).capitalize() + "."


def _paragraph(random: Random, sentences: int) -> str:
    return " ".join(_sentence(random) for _ in range(sentences))


def _product(number: int, random: Random) -> Product:
    category = random.choice(tuple(KINDS))
    kind = random.choice(KINDS[category])
    colour = random.choice(COLOURS)
    brand = random.choice(BRANDS)
    name = f"{random.choice(WORDS).capitalize()} {kind}, {colour}"
    views = ("front", "side", "back", "detail", "in use")[: random.randint(3, 5)]
    return Product(
        number=number,
        name=name,
        kind=kind,
        category=category,
        brand=brand,
        colour=colour,
        sku=f"FB-{number:04d}-{random.randint(100, 999)}",
        price=f"{random.randint(4, 900)}.{random.choice(('00', '49', '50', '90', '95', '99'))}",
        currency=random.choice(CURRENCIES),
        availability=random.choice(AVAILABILITY),
        rating=f"{random.randint(20, 50) / 10}",
        description=_sentence(random, 14, 20),
        images=tuple(
            (f"/img/{number:04d}-{view.replace(' ', '-')}.jpg", f"{name} by {brand}, {view}")
            for view in views
        ),
    )


def _structured(product: Product, random: Random) -> str:
    offer = {
        "@type": "Offer",
        "url": product.url,
        "price": product.price,
        "priceCurrency": product.currency,
        "availability": f"https://schema.org/{product.availability}",
        "itemCondition": "https://schema.org/NewCondition",
    }
    item = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": product.name,
        "sku": product.sku,
        "description": product.description,
        "category": product.category,
        "color": product.colour,
        "brand": {"@type": "Brand", "name": product.brand},
        "image": [SITE + path for path, _ in product.images],
        "aggregateRating": {
            "@type": "AggregateRating",
            "ratingValue": product.rating,
            "reviewCount": random.randint(3, 400),
        },
        "offers": offer,
    }
    steps = (("Home", SITE + "/"), (product.category, f"{SITE}/c/{product.category.lower()}"))
    trail = [
        {"@type": "ListItem", "position": place, "name": name, "item": url}
        for place, (name, url) in enumerate((*steps, (product.name, product.url)), 1)
    ]
    crumbs = {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": trail}
    return "\n".join(
        f'<script type="application/ld+json">{json.dumps(value, ensure_ascii=False)}</script>'
        for value in (item, crumbs)
    )


def _head(product: Product, random: Random) -> str:
    title = escape(f"{product.name} | {product.brand} | Shop Example")
    text = escape(product.description)
    image = SITE + product.images[0][0]
    alternates = "\n".join(
        f'<link rel="alternate" hreflang="{code}" href="{SITE}/{code}/p/{product.number:04d}.html">'
        for code in LANGUAGES
    )
    rules = "\n".join(
        f".{random.choice(WORDS)}-{number}{{margin:{number % 9}px;padding:{number % 5}px;"
        f"color:#{number:03x}{number:03x}}}"
        for number in range(40)
    )
    return f"""<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta name="description" content="{text}">
<meta name="robots" content="index, follow, max-image-preview:large">
<link rel="canonical" href="{product.url}">
{alternates}
<meta property="og:type" content="product">
<meta property="og:site_name" content="Shop Example">
<meta property="og:title" content="{escape(product.name)}">
<meta property="og:description" content="{text}">
<meta property="og:image" content="{image}">
<meta property="og:url" content="{product.url}">
<meta name="twitter:card" content="summary_large_image">
<meta name="twitter:title" content="{escape(product.name)} from {escape(product.brand)}">
<meta name="twitter:description" content="{text}">
<link rel="stylesheet" href="/static/shop.css">
<style>
{rules}
</style>
{_structured(product, random)}"""


def _header(product: Product) -> str:
    menus = "\n".join(
        f'<li class="nav__item"><a class="nav__link" href="/c/{category.lower()}">{category}</a>'
        '<ul class="nav__sub">'
        + "".join(
            f'<li><a class="nav__link nav__link--sub" href="/c/{category.lower()}/{kind.replace(" ", "-")}">'
            f"{kind.capitalize()}s</a></li>"
            for kind in kinds
        )
        + "</ul></li>"
        for category, kinds in KINDS.items()
    )
    return f"""<header class="header">
<a class="logo" href="/"><img src="/img/logo.svg" alt="Shop Example"></a>
<form class="search" action="/search" method="get">
<label for="q">Search</label><input id="q" name="q" type="search"><button type="submit">Go</button></form>
<nav class="nav" aria-label="Main"><ul class="nav__list">
{menus}
</ul></nav></header>
<nav class="breadcrumb" aria-label="Breadcrumb"><ol><li><a href="/">Home</a></li>
<li><a href="/c/{product.category.lower()}">{product.category}</a></li>
<li aria-current="page">{escape(product.name)}</li></ol></nav>"""


def _buy_box(product: Product) -> str:
    gallery = "\n".join(
        f'<figure class="gallery__item"><img class="gallery__image" src="{path}" alt="{escape(alt)}" '
        f'width="800" height="600" loading="lazy"></figure>'
        for path, alt in product.images
    )
    options = "".join(f'<option value="{colour}">{colour.capitalize()}</option>' for colour in COLOURS)
    return f"""<section class="product__media">
{gallery}
</section>
<section class="product__buy">
<h1 class="product__title">{escape(product.name)}</h1>
<p class="product__brand">by <a href="/b/{product.number % len(BRANDS)}">{escape(product.brand)}</a></p>
<p class="price"><span class="price__value" data-price="{product.price}">{product.price}</span>
<span class="price__currency">{product.currency}</span></p>
<p class="stock stock--{product.availability.lower()}">{product.availability}</p>
<form class="cart" action="/cart" method="post"><input type="hidden" name="sku" value="{product.sku}">
<label>Colour <select name="colour">{options}</select></label>
<label>Quantity <input type="number" name="quantity" value="1" min="1" max="20"></label>
<button class="button button--primary" type="submit">Add to basket</button></form>
</section>"""


def _details(product: Product, random: Random) -> str:
    text = "\n".join(f"<p>{_paragraph(random, random.randint(3, 5))}</p>" for _ in range(8))
    rows = "\n".join(
        f'<tr class="spec__row"><th scope="row">{" ".join(random.choices(WORDS, k=2))}</th>'
        f"<td>{random.randint(1, 999)} {random.choice(('mm', 'g', 'W', 'ml'))}</td></tr>"
        for _ in range(24)
    )
    return f"""<section class="product__text" id="description"><h2>Description</h2>
<p class="lead">{escape(product.description)}</p>
{text}
</section>
<section class="product__spec" id="details"><h2>Details</h2><table class="spec">
{rows}
</table></section>"""


def _reviews(random: Random) -> str:
    reviews = "\n".join(
        f'<article class="review" id="r{number}"><h3 class="review__title">{_sentence(random, 3, 6)}</h3>'
        f'<p class="review__meta"><span class="review__stars" '
        f'aria-label="{random.randint(1, 5)} of 5">*****</span> '
        f'<time datetime="2025-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}">2025</time></p>'
        f'<div class="review__body"><p>{_paragraph(random, random.randint(2, 5))}</p></div></article>'
        for number in range(23)
    )
    return f'<section class="reviews" id="reviews"><h2>Reviews</h2>\n{reviews}\n</section>'


def _related(product: Product, random: Random) -> str:
    cards = []
    for _ in range(10):
        other = random.randrange(COUNT)
        name = f"{random.choice(WORDS).capitalize()} {product.kind}"
        cards.append(
            f'<li class="card"><a class="card__link" href="/p/{other:04d}.html"><img class="card__image" '
            f'src="/img/{other:04d}-small.jpg" alt="{name}" loading="lazy">'
            f'<span class="card__name">{name}</span>'
            f'<span class="card__more">{_sentence(random, 4, 8)}</span></a></li>'
        )
    return (
        '<aside class="related"><h2>Others also looked at</h2><ul class="cards">\n'
        + "\n".join(cards)
        + "\n</ul></aside>"
    )


def _footer(random: Random) -> str:
    links = "\n".join(
        f'<li><a href="/help/{first}-{second}">{first.capitalize()} and {second}</a></li>'
        for first, second in (random.sample(WORDS, 2) for _ in range(24))
    )
    return f"""<footer class="footer"><ul class="footer__links">
{links}
</ul><p class="footer__note">Made-up goods at made-up prices. Nothing here can be bought.</p></footer>
<script>
(function () {{
  var items = [{", ".join(str(random.randint(1, 9999)) for _ in range(120))}];
  window.shop = {{ seen: items, ready: false }};
  document.addEventListener("DOMContentLoaded", function () {{ window.shop.ready = items.length > 0; }});
}})();
</script>"""


def page(number: int) -> str:
    """The HTML of product `number`, the same whenever it is asked for."""
    random = Random(f"fyke-bench-{number}")  # noqa: S311 - no secret
    product = _product(number, random)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
{_head(product, random)}
</head>
<body class="page page--product">
{_header(product)}
<main class="product" id="main">
{_buy_box(product)}
{_details(product, random)}
{_reviews(random)}
{_related(product, random)}
</main>
{_footer(random)}
</body>
</html>
"""


def url(base: str, place: int) -> str:
    """The address number `place` at `base`: over all pages again and again, told apart by the query."""
    path = f"{base}/p/{place % COUNT:04d}.html"
    return path if place < COUNT else f"{path}?n={place // COUNT}"
