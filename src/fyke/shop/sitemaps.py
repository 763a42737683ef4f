"""What the shop tells crawlers: robots.txt, a sitemap index and two sitemaps."""

import gzip
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final
from xml.sax.saxutils import escape

from fyke.shop.catalogue import Item
from fyke.shop.layout import NAME
from fyke.shop.words import ARTICLES

__all__ = [
    "index",
    "item_entries",
    "news_entries",
    "plain_entries",
    "published",
    "robots",
    "squeezed",
    "urlset",
]

OPENED: Final = date(2026, 1, 5)
FIRST_CHANGE: Final = date(2026, 6, 1)

ROBOTS: Final = """# You are welcome, but not in the basket.
User-agent: *
Disallow: /checkout
Disallow: /account
Disallow: /search
Allow: /search/help

User-agent: greedybot
Disallow: /

Sitemap: {base}/sitemap.xml
"""


def robots(base: str) -> str:
    return ROBOTS.format(base=base)


def index(base: str, revision: int) -> str:
    moved = (FIRST_CHANGE + timedelta(days=revision)).isoformat()
    entries = "".join(
        [
            f"<sitemap><loc>{base}/sitemaps/{name}</loc><lastmod>{moved}</lastmod></sitemap>\n"
            for name in ("products.xml.gz", "pages.xml")
        ]
    )
    return _document("sitemapindex", entries)


def urlset(entries: Iterable[str]) -> str:
    return _document("urlset", "".join(entries))


def item_entries(base: str, items: Sequence[Item]) -> list[str]:
    """Products with their pictures."""
    return [
        f"<url><loc>{base}{item.path}</loc><lastmod>{_moved(item)}</lastmod>"
        f"<image:image><image:loc>{base}/img/{item.slug}-1.svg</image:loc>"
        f"<image:title>{escape(item.name)}</image:title></image:image></url>\n"
        for item in items
    ]


def news_entries(base: str) -> list[str]:
    """The journal's articles as news."""
    return [
        f"<url><loc>{base}/journal/{slug}</loc><lastmod>{published(i)}</lastmod><news:news>"
        f"<news:publication><news:name>{escape(NAME)}</news:name><news:language>en</news:language>"
        f"</news:publication><news:publication_date>{published(i)}</news:publication_date>"
        f"<news:title>{escape(title)}</news:title></news:news></url>\n"
        for i, (slug, title, _) in enumerate(ARTICLES)
    ]


def plain_entries(base: str, paths: Iterable[str]) -> list[str]:
    return [f"<url><loc>{base}{escape(path)}</loc></url>\n" for path in paths]


def published(number: int) -> str:
    """The day an article came out."""
    return (OPENED + timedelta(days=17 * number)).isoformat()


def squeezed(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)


def _moved(item: Item) -> str:
    if item.revision:
        return (FIRST_CHANGE + timedelta(days=item.revision)).isoformat()
    return (OPENED + timedelta(days=item.number % 60)).isoformat()


def _document(root: str, entries: str) -> str:
    site = "http://www.sitemaps.org/schemas/sitemap/0.9"
    more = "http://www.google.com/schemas/sitemap"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{site}" '
        f'xmlns:image="{more}-image/1.1" xmlns:news="{more}-news/0.9">\n{entries}</{root}>\n'
    )
