"""Page -> Record: one parse, shared by all readers. Pure, synchronous, and silent about bad input."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from fyke.core.errors import UnknownName
from fyke.core.record import Product, Record
from fyke.extract.document import Document
from fyke.extract.product import read_product
from fyke.extract.seo import read_seo

__all__ = ["TARGETS", "Target", "extract"]


class Target(Struct, frozen=True):
    """A kind of page: its name, what it is for, and the reader of its data. A reader gets the parsed
    page and its heading."""

    name: str
    summary: str
    read: Callable[[Document, str | None], Product]


def _read_nothing(document: Document, h1: str | None) -> Product:
    return Product()


TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        target.name: target
        for target in (
            Target("page", "Any page: title, heading, SEO fields", _read_nothing),
            Target("product", "A page that sells one thing", read_product),
        )
    }
)


def extract(html: str, url: str, target: str, *, links: bool = False) -> Record:
    """The record of a page. `url` is where it came from in the end; `links` asks for its links too.

    Whatever the text is, there is a record: what cannot be read is missing from it. Only a target that
    does not exist is an error (UnknownName)."""
    chosen = TARGETS.get(target)
    if chosen is None:
        raise UnknownName("target", target, TARGETS)
    document = Document(html, url)
    h1 = document.h1()
    return Record(
        title=document.title(),
        h1=h1,
        text_hash=document.text_hash(),
        data=chosen.read(document, h1),
        seo=read_seo(document),
        links=document.links() if links else (),
    )
