"""Absolute URLs, canonical as `core.urls.join` makes them, without its cost where nothing is to do."""

import re

from fyke.core.errors import InvalidUrl
from fyke.core.urls import join, origin_of

__all__ = ["Base"]

# Both patterns, where there is no "/." and no "xn--" in the URL, accept only what the URL parser would give
# back unchanged: a lower-case host whose last label is no number, nothing that needs escaping, no fragment.
REST = r"/[A-Za-z0-9_~!$&()*+,;=:@./?-]*+"
FINISHED = re.compile(r"https?://(?:[a-z0-9-]++\.)++[a-z]{2,}+" + REST).fullmatch
ROOTED = re.compile(r"(?!//)" + REST).fullmatch

LONGEST = 2000  # beyond, the URL parser's own limits decide


class Base:
    """What the URLs of one page are relative to."""

    __slots__ = ("_origin", "url")

    def __init__(self, url: str, href: str | None = None) -> None:
        self.url = url
        self._origin: str | None = None
        if href is not None:  # <base href>
            self.url = self.absolute(href) or url

    def absolute(self, url: object) -> str | None:
        """`url` as an absolute http(s) URL, or None when it is none."""
        if not isinstance(url, str) or not (url := url.strip()):
            return None
        try:
            if "/." not in url and "xn--" not in url and len(url) <= LONGEST:
                if FINISHED(url):
                    return url
                if ROOTED(url):
                    if self._origin is None:
                        self._origin = origin_of(self.url)
                    return self._origin + url
            return join(self.url, url)
        except InvalidUrl:
            return None
