"""Everything the shop answers, by path: its pages and, on purpose, its troubles.

The sitemap leads to all kinds of trouble: pages that fail at first, that are slow, gone, moved, twice
there, in another character set, not to be indexed, or not to be fetched at all.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from fyke.shop import pages, sitemaps
from fyke.shop.answers import Answer
from fyke.shop.catalogue import Item
from fyke.shop.pictures import picture
from fyke.shop.words import ARTICLES, CATEGORIES, COLOURS, SCRIPTS

__all__ = ["Troubles", "build", "not_found", "troubles"]

SLOW_SECONDS: Final = 0.5
FIRST: Final = 300  # later products have no troubles
GONE: Final = ("/p/copper-fish-kettle-0871", "/p/tin-whistle-0402")  # 404
WITHDRAWN: Final = "/p/lead-soldier-0007"  # 410
FORBIDDEN: Final = "/checkout/gift-cards"  # robots.txt
LOOP: Final = ("/offers/spring", "/offers/summer")
INFO: Final = (
    ("/about", "About us", "Four people, one counter, a kiln in the yard."),
    ("/delivery", "Delivery", "We send on Tuesdays and Fridays. Anything over 80 goes free."),
)


class Troubles(Struct, frozen=True):
    """The paths at which something is not as usual."""

    slow: tuple[str, ...]
    failing_first: tuple[str, ...]
    noindex: tuple[str, ...]
    charsets: Mapping[str, str]
    duplicates: Mapping[str, str]
    redirects: Mapping[str, str]
    gone: Mapping[str, int]
    disallowed: tuple[str, ...]
    loops: tuple[str, ...]


def troubles(items: Sequence[Item]) -> Troubles:
    """By place in the catalogue, so that they stay where they are."""
    first = items[:FIRST]
    moved = {f"/item/{item.number + 1001}": item.path for item in first[12::50]}
    twice = {f"/shop/{old.removeprefix('/item/')}": old for old in [*moved][:2]}
    return Troubles(
        slow=tuple([item.path for item in first[25::75]]),
        failing_first=tuple([item.path for item in first[33::60]]),
        noindex=tuple([item.path for item in first[40::97]]),
        charsets={
            item.path: SCRIPTS[i % len(SCRIPTS)][0] for i, item in enumerate(first[5::23]) if not item.gone
        },
        duplicates={f"/c/{item.category.slug}/{item.slug}": item.path for item in first[18::37]},
        redirects={**moved, **twice},
        gone={**dict.fromkeys(GONE, 404), WITHDRAWN: 410},
        disallowed=(FORBIDDEN,),
        loops=LOOP,
    )


def build(items: Sequence[Item], revision: int, base: str) -> dict[str, Answer]:
    """All answers, for a shop at `base`."""
    known = troubles(items)
    there = [item for item in items if not item.gone]
    answers = _products(items, known, base)
    answers |= _lists(there, base)
    answers |= _pictures(there)
    answers |= _moved(known)
    answers |= _words(base)
    for path, kept in known.duplicates.items():
        if kept in answers:
            answers[path] = answers[kept]
    answers |= _for_crawlers(items, known, revision, base)
    return answers


def not_found(base: str) -> Answer:
    text = "Nothing is kept at this address."
    return _html(pages.message(base, "/404", "Not found", text, "noindex"), status=404)


def _products(items: Sequence[Item], known: Troubles, base: str) -> dict[str, Answer]:
    names = [charset for charset, _ in SCRIPTS]
    answers: dict[str, Answer] = {}
    shelves: dict[str, list[Item]] = {}
    for item in items:
        shelves.setdefault(item.category.slug, []).append(item)
    for item in items:
        if item.gone:
            continue
        charset = known.charsets.get(item.path)
        shelf = shelves[item.category.slug]
        at = item.number // len(CATEGORIES)
        # By name, from the first catalogue, so that a page does not change when its neighbours do.
        others = [shelf[(at + step) % min(len(shelf), 30)] for step in (1, 2, 3, 5)]
        noindex = item.path in known.noindex
        by_header = noindex and item.number % 2 == 1
        script = names.index(charset) if charset else None
        text = pages.product(item, base, others, script, noindex and not by_header)
        # Every other page in a character set of its own says so in its markup alone.
        told = charset is None or script in (0, 2, 4)
        answers[item.path] = Answer(
            text.encode(charset or "utf-8", "xmlcharrefreplace"),
            f"text/html; charset={charset or 'utf-8'}" if told else "text/html",
            headers={"X-Robots-Tag": "noindex"} if by_header else None,
            delay=SLOW_SECONDS if item.path in known.slow else 0,
            fails_first=item.path in known.failing_first,
        )
    return answers


def _lists(items: Sequence[Item], base: str) -> dict[str, Answer]:
    answers = {"/": _html(pages.home(base, items))}
    for category in CATEGORIES:
        shelf = [item for item in items if item.category is category]
        for number in range(1, -(-len(shelf) // pages.PER_PAGE) + 1):
            path = f"/c/{category.slug}" + (f"?page={number}" if number > 1 else "")
            answers[path] = _html(pages.listing(category, base, shelf, number))
    return answers


def _pictures(items: Sequence[Item]) -> dict[str, Answer]:
    drawn = {
        (glyph, colour, view): _svg(picture(glyph, colour, view))
        for glyph in {category.glyph for category in CATEGORIES}
        for colour in range(len(COLOURS))
        for view in range(3)
    }
    answers = {
        f"/img/{item.slug}-{view + 1}.svg": drawn[item.category.glyph, item.colour, view]
        for item in items
        for view in range(3)
    }
    for i, category in enumerate(CATEGORIES):
        answers[f"/img/c-{category.slug}.svg"] = drawn[category.glyph, i % len(COLOURS), 0]
    answers["/icon.svg"] = drawn["kettle", 2, 1]
    return answers


def _moved(known: Troubles) -> dict[str, Answer]:
    answers = {
        path: Answer(
            b"", "text/html", 302 if path.startswith("/shop/") else 301, headers={"Location": target}
        )
        for path, target in known.redirects.items()
    }
    there, back = known.loops
    answers[there] = Answer(b"", "text/html", 302, headers={"Location": back})
    answers[back] = Answer(b"", "text/html", 302, headers={"Location": there})
    return answers


def _words(base: str) -> dict[str, Answer]:
    answers = {path: _html(pages.message(base, path, title, text)) for path, title, text in INFO}
    answers["/journal"] = _html(pages.journal(base))
    for i, (slug, _, _) in enumerate(ARTICLES):
        answers[f"/journal/{slug}"] = _html(pages.article(i, base, sitemaps.published(i)))
    withdrawn = pages.message(base, WITHDRAWN, "Withdrawn", "We no longer make this, and should not have.")
    answers[WITHDRAWN] = _html(withdrawn, status=410)
    for path in ("/checkout", FORBIDDEN, "/account", "/search"):
        answers[path] = _html(pages.message(base, path, "Not for crawlers", "robots.txt says so.", "noindex"))
    return answers


def _for_crawlers(items: Sequence[Item], known: Troubles, revision: int, base: str) -> dict[str, Answer]:
    listed = [item for item in items if item.listed]
    others = [
        *[path for path, _, _ in INFO],
        *known.duplicates,
        *known.redirects,
        *known.gone,
        *known.disallowed,
        known.loops[0],
    ]
    products = sitemaps.squeezed(sitemaps.urlset(sitemaps.item_entries(base, listed)))
    rest = sitemaps.urlset([*sitemaps.news_entries(base), *sitemaps.plain_entries(base, others)])
    return {
        "/robots.txt": Answer(sitemaps.robots(base).encode(), "text/plain; charset=utf-8"),
        "/sitemap.xml": Answer(sitemaps.index(base, revision).encode(), "application/xml"),
        "/sitemaps/products.xml.gz": Answer(products, "application/gzip"),
        "/sitemaps/pages.xml": Answer(rest.encode(), "application/xml"),
    }


def _html(text: str, *, status: int = 200) -> Answer:
    return Answer(text.encode(), "text/html; charset=utf-8", status)


def _svg(text: str) -> Answer:
    return Answer(text.encode(), "image/svg+xml")
