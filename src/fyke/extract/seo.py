"""What a page tells search engines and link previews."""

from typing import Final

from fyke.core.record import Seo
from fyke.extract.document import Document
from fyke.extract.text import fold

__all__ = ["read_seo"]

MOST: Final = 2000  # images, and links in the head, that are looked at


def read_seo(document: Document) -> Seo:
    metas = document.metas.get
    canonical, hreflang = _read_links(document)
    return Seo(
        meta_description=fold(metas("description")),
        og_title=fold(metas("og:title")),
        og_description=fold(metas("og:description")),
        og_image=document.base.absolute(document.meta("og:image", "og:image:url", "og:image:secure_url")),
        twitter_title=fold(metas("twitter:title")),
        twitter_description=fold(metas("twitter:description")),
        canonical=canonical,
        robots=fold(metas("robots")),
        hreflang=hreflang,
        images_alt=_read_alts(document),
    )


def _read_links(document: Document) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """The canonical URL and the pairs of language and URL of the page's translations."""
    canonical: str | None = None
    hreflang: list[tuple[str, str]] = []
    absolute = document.base.absolute
    for element in document.by_tag["link"][:MOST]:
        rel = (element.attr("rel") or "").lower()
        if "alternate" in rel:
            language = fold(element.attr("hreflang"))
            if language and (url := absolute(element.attr("href"))):
                hreflang.append((language, url))
        elif canonical is None and "canonical" in rel:
            canonical = absolute(element.attr("href"))
    return canonical, tuple(hreflang)


def _read_alts(document: Document) -> tuple[str, ...]:
    """The alternative texts of images, where there are any."""
    images = document.by_tag["img"][:MOST]
    return tuple([alt for image in images if (alt := fold(image.attr("alt")))])
