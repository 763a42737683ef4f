"""The XML of sitemaps, through expat, without a tree.

An entry is what its direct children `loc` and `lastmod` say; news, image and video extensions have their
`loc`s further down and pass by. Prefixes are not looked at, so that sitemaps which forget to declare one
are read all the same. A document that declares an entity is refused as soon as it does.

Expat stops for good at the first error. A new parser then takes over behind the broken entry, under the
root element of the old one: the entry is lost and counted, the rest is read. An & that should have been
&amp; is put right before expat sees it.
"""

import re
from codecs import IncrementalDecoder
from contextlib import suppress
from typing import Final
from xml.parsers import expat

import webencodings  # type: ignore[import-untyped]  # ships no types
from msgspec import Struct

from fyke.jobs.pieces import BadPieces
from fyke.jobs.sitemap_amp import Ampersands

__all__ = ["UTF8_MARK", "UTF16_MARKS", "Entry", "Report", "SitemapXml"]

MAX_DEPTH: Final = 64
MAX_TEXT: Final = 16_384
MAX_TOKEN: Final = 1 << 20  # bytes that expat may hold back, waiting for the end of a tag or comment
MOST_NOTES: Final = 5
ROOTS: Final = {"urlset": "url", "sitemapindex": "sitemap"}
UTF8_MARK: Final = b"\xef\xbb\xbf"
UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
TAG_OF_ENTRY: Final = re.compile(rb"<(/?)(?:[A-Za-z_][\w.-]*:)?(?:url|sitemap)\s*>")
TAIL: Final = 80  # bytes kept while looking for such a tag, which may come in two pieces


class Entry(Struct, frozen=True, gc=False):
    """A URL as it stands in the sitemap; `index` says that it is of a further sitemap."""

    loc: str
    lastmod: str | None = None
    index: bool = False


class Report(Struct):
    """How reading went: `warnings` counts what could not be read, `notes` has the first few reasons;
    `ended` says that the end was reached, `lost` that something on the way may have hidden an entry.
    Whoever reads and whoever uses what was read both tell it so: neither takes back what the other said."""

    warnings: int = 0
    notes: list[str] = []
    ended: bool = False
    lost: bool = False

    @property
    def complete(self) -> bool:
        return self.ended and not self.lost

    def warn(self, reason: str) -> None:
        self.warnings += 1
        if len(self.notes) < MOST_NOTES:
            self.notes = [*self.notes, reason]

    def lose(self, reason: str) -> None:
        """Warn of something that may have hidden an entry."""
        self.warn(reason)
        self.lost = True


class SitemapXml:
    """Fed piece by piece; `taken` gives the entries that were completed since."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._entries: list[Entry] = []
        self._path: list[str] = []
        self._root = ""  # as it is written, with its prefix
        self._entry = ""  # what the root's children are called
        self._loc: list[str] = []
        self._lastmod: list[str] = []
        self._text: list[str] | None = None  # which of them is being read
        self._length = 0
        self._broken = ""
        self._decoder: IncrementalDecoder | None = None
        self._wide = False
        self._ampersands = Ampersands()
        self._fed = -1
        self._looking: bytes | None = None  # what was kept while looking for the next entry
        self._parser: expat.XMLParserType

    def taken(self) -> list[Entry]:
        taken, self._entries = self._entries, []
        return taken

    def feed(self, piece: bytes) -> None:
        """Read on; BadPieces when there is no sense in going further."""
        if self._fed < 0:
            piece = self._begin(piece)
        if self._decoder is not None:
            piece = self._decoder.decode(piece).encode()
        if not self._wide:
            piece = self._put_right(piece)
        while piece:
            if self._looking is not None:
                piece = self._look(piece)
                continue
            try:
                self._parser.Parse(piece, False)
            except expat.ExpatError as error:
                piece = self._after_error(piece, error)
                continue
            self._fed += len(piece)
            if self._fed - self._parser.CurrentByteIndex > MAX_TOKEN:
                raise BadPieces(f"a tag or comment of more than {MAX_TOKEN} bytes")
            return

    def close(self) -> None:
        """There is no more to come."""
        if self._fed > 0 and self._looking is None:
            # Newer expats put off what came in small pieces until more comes.
            with suppress(expat.ExpatError):  # of a document that is cut off, which is said below
                self._parser.Parse(b"", True)
        if not self._root:
            raise BadPieces("not a sitemap: it has no root element")
        if self._path:
            self._report.lose(f"the sitemap is cut off inside <{self._path[-1]}>")
        else:
            self._report.ended = True

    def _begin(self, piece: bytes) -> bytes:
        self._fed = 0
        self._wide = piece.startswith(UTF16_MARKS)
        self._parser = self._new_parser()
        if self._wide:
            return piece
        piece = piece.removeprefix(UTF8_MARK).lstrip()  # blank lines before the declaration are common
        declared = DECLARED.match(piece)
        name = declared[1].decode() if declared is not None else "utf-8"
        # One that is readable as ASCII is not UTF-16, though some generators say so.
        encoding = webencodings.lookup("utf-8" if name.lower().startswith("utf-16") else name)
        if encoding is None:
            self._report.warn(f"unknown encoding {name[:40]!r}: read as UTF-8")
        elif encoding.name != "utf-8":
            self._decoder = encoding.codec_info.incrementaldecoder("replace")
        return piece

    def _put_right(self, piece: bytes) -> bytes:
        known = self._ampersands.bare
        piece = self._ampersands.feed(piece)
        if not known and self._ampersands.bare:  # one warning for all there are: nothing is lost by them
            self._report.warn("an & that is not written &amp;")
        return piece

    def _new_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(None if self._wide else "utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse_entity
        parser.SkippedEntityHandler = self._skipped_entity
        return parser

    def _start(self, name: str, attributes: object) -> None:
        path = self._path
        local = name.rpartition(":")[2]
        path.append(local)
        depth = len(path)
        if depth == 3:
            if path[1] == self._entry:
                self._text = {"loc": self._loc, "lastmod": self._lastmod}.get(local)
                self._length = 0
        elif depth == 2:
            self._loc.clear()
            self._lastmod.clear()
            self._broken = ""
        elif depth == 1:
            self._root = name
            if local not in ROOTS:
                raise BadPieces(f"not a sitemap: its root element is <{name[:80]}>")
            self._entry = ROOTS[local]
        elif depth > MAX_DEPTH:
            raise BadPieces(f"elements more than {MAX_DEPTH} deep")

    def _end(self, name: str) -> None:
        path = self._path
        local = path.pop()
        if len(path) == 2:
            self._text = None
        elif len(path) == 1 and local == self._entry:
            self._complete_entry()

    def _complete_entry(self) -> None:
        loc = "".join(self._loc).strip()
        if self._broken:
            self._report.lose(self._broken)
        elif not loc:
            self._report.warn(f"<{self._entry}> without <loc>")
        else:
            lastmod = "".join(self._lastmod).strip() or None
            self._entries.append(Entry(loc, lastmod, self._entry == "sitemap"))

    def _characters(self, data: str) -> None:
        if self._text is None:
            return
        self._length += len(data)
        if self._length > MAX_TEXT:
            self._broken = f"a text of more than {MAX_TEXT} characters"
        else:
            self._text.append(data)

    def _skipped_entity(self, name: str, parameter: bool) -> None:
        self._broken = f"an unknown entity &{name[:40]};"

    def _after_error(self, piece: bytes, error: expat.ExpatError) -> bytes:
        """Give up, or look for the next entry from the error on."""
        reason = expat.ErrorString(error.code)
        if not self._root:
            raise BadPieces(f"not a sitemap: {reason}")
        if not self._path:
            raise BadPieces(f"text after the end of the sitemap: {reason}")
        self._report.lose(f"malformed XML: {reason}")
        if self._wide:
            raise BadPieces("the rest of it is not read")
        # The byte at which the error is has been looked at: no error is met twice.
        at = max(0, self._parser.ErrorByteIndex - self._fed)
        self._looking = b""
        if TAG_OF_ENTRY.match(piece, at) is not None and piece[at + 1 : at + 2] != b"/":
            at += 1
        return piece[at:]

    def _look(self, piece: bytes) -> bytes:
        """What remains from the next entry on, for a new parser; nothing when there is none in here."""
        piece = (self._looking or b"") + piece
        tag = TAG_OF_ENTRY.search(piece)
        if tag is None:
            if self._ends(piece):
                return b""
            self._looking = piece[-TAIL:]
            return b""
        self._looking = None
        self._resume()
        return piece[tag.end() if tag[1] else tag.start() :]

    def _ends(self, piece: bytes) -> bool:
        """Whether the root's end tag is in the piece: then no entry follows."""
        if f"</{self._root}".encode() not in piece:
            return False
        self._path.clear()
        self._looking = b""
        return True

    def _resume(self) -> None:
        self._path, self._text, self._broken = [], None, ""
        self._parser = self._new_parser()
        root = f"<{self._root}>".encode()
        self._parser.Parse(root, False)
        self._fed = len(root)


def _refuse_entity(name: str, *_: object) -> None:
    raise BadPieces(f"it declares an entity ({name[:40]!r}), which is refused")
