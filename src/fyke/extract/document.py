"""One parse and one walk of a page, and what all readers share of it.

Scripts, styles, templates and noscript are taken out of the tree once they have been looked at: what
is left is what a visitor can see, so that every later reader may ask for text without care.
"""

from hashlib import sha256
from typing import Final

from turbohtml import Document as Tree
from turbohtml import Element, Namespace, parse

from fyke.extract.links import Base
from fyke.extract.text import fold, well_formed

__all__ = ["Document", "text_of"]

# Asking once for all the tags is much cheaper than asking for each: the walk is what costs.
WANTED: Final = ("title", "meta", "link", "base", "h1", "img", "script", "style", "template", "noscript")
UNSEEN: Final = ("script", "style", "template", "noscript")
EMPTY_HASH: Final = sha256(b"").hexdigest()
ASCII_SPACE: Final = b" \t\n\r\f"


class Document:
    """A parsed page: its tree without unseen parts, some of its elements by tag in the order of the
    page, its base URL, its meta tags and its JSON-LD texts."""

    __slots__ = ("base", "by_tag", "json_ld", "metas", "tree")

    def __init__(self, html: str, url: str) -> None:
        # With scripting on, <noscript> holds plain text, as in a browser, and its tags stay out of the tree.
        self.tree: Tree = parse(well_formed(html), positions=False, scripting=True)
        self.by_tag: dict[str, list[Element]] = self._walk()
        if self.by_tag["template"]:  # what is in them is no part of the page: walk again without it
            for template in self.by_tag["template"]:
                template.decompose()
            self.by_tag = self._walk()
        self.base = Base(url, _attribute(self.by_tag["base"], "href"))
        self.metas: dict[str, str] = self._read_metas()
        self.json_ld: list[str] = self._take_out_unseen()

    def _walk(self) -> dict[str, list[Element]]:
        found: dict[str, list[Element]] = {tag: [] for tag in WANTED}
        for element in self.tree.iter_elements(WANTED):
            found[element.tag].append(element)
        return found

    def _take_out_unseen(self) -> list[str]:
        """Remove what is not seen; the texts of JSON-LD scripts that were among it."""
        texts = []
        for script in self.by_tag["script"]:
            kind = script.attr("type")
            if kind is not None and "ld+json" in kind.lower():
                texts.append(script.text)
        for tag in UNSEEN:
            for element in self.by_tag[tag]:
                element.decompose()
        return texts

    def _read_metas(self) -> dict[str, str]:
        """The first content of <meta> there is by lower-case property and name."""
        metas: dict[str, str] = {}
        for element in self.by_tag["meta"]:
            content = element.attr("content")
            if not content or content.isspace():
                continue
            name, key = element.attr("name"), element.attr("property")
            if name is not None:
                metas.setdefault(name.lower(), content)
            if key is not None:
                metas.setdefault(key.lower(), content)
        return metas

    def meta(self, *keys: str) -> str | None:
        """The meta content under the first of the keys that has any, folded."""
        for key in keys:
            if key in self.metas:
                return fold(self.metas[key])
        return None

    def all_metas(self, key: str) -> list[str]:
        """Every meta content under a property or name."""
        wanted = (
            element
            for element in self.by_tag["meta"]
            if key in (element.attr("property"), element.attr("name"))
        )
        return [content for element in wanted if (content := element.attr("content"))]

    def title(self) -> str | None:
        """The text of the first <title> of the page itself; one inside a drawing names the drawing."""
        for element in self.by_tag["title"]:
            if element.namespace is Namespace.HTML and (text := fold(element.text)):
                return text
        return None

    def h1(self) -> str | None:
        """The text of the first <h1> that has any."""
        for element in self.by_tag["h1"]:
            if text := text_of(element):
                return text
        return None

    def text_hash(self) -> str:
        """SHA-256 in hex of the visible text without its white space, which comes and goes with the
        layout of the source while the page stays the same."""
        body = self.tree.find("body")
        if body is None:
            return EMPTY_HASH
        return sha256(body.text.encode().translate(None, ASCII_SPACE)).hexdigest()

    def links(self) -> tuple[str, ...]:
        """Every absolute http(s) URL linked to, once, in the order of the page, but not places within it."""
        found: dict[str, None] = {}
        for element in self.tree.iter_elements("a"):
            href = element.attr("href")
            if href and href[0] != "#" and (url := self.base.absolute(href)):
                found[url] = None
        return tuple(found)


def _attribute(elements: list[Element], name: str) -> str | None:
    """The attribute of the first element that has it."""
    for element in elements:
        if value := element.attr(name):
            return value
    return None


def text_of(element: Element) -> str | None:
    """An element's text; where it has parts, laid out so that <br> and blocks part words."""
    return fold(element.text if len(element) < 2 else element.to_text())
