"""Ampersands that should have been written &amp;, the most common fault of sitemaps, put right as the bytes
come. An & is one unless it begins a reference: a name or a number, and a semicolon. CDATA sections and
comments, in which an & stands for itself, are passed through."""

import re
from typing import Final

__all__ = ["Ampersands"]

MARK: Final = re.compile(
    rb"<!\[CDATA\[|<!--|&(?!(?:[A-Za-z_:][\w.:-]{0,63}|#[0-9]{1,8}|#x[0-9A-Fa-f]{1,8});)"
)
OPEN_END: Final = re.compile(rb"&(?:[A-Za-z_:][\w.:-]{0,63}|#[0-9]{0,8}|#x[0-9A-Fa-f]{0,8})?\Z")
ENDS: Final = {b"<![CDATA[": b"]]>", b"<!--": b"-->"}
LONGEST: Final = max(map(len, ENDS))


class Ampersands:
    """Fed piece by piece; what cannot be told yet at the end of a piece, a few bytes, waits for the next.
    `bare` counts what was put right."""

    def __init__(self) -> None:
        self.bare = 0
        self._held = b""
        self._until = b""  # the end of the section that is passed through

    def feed(self, piece: bytes) -> bytes:
        data, self._held = self._held + piece, b""
        done: list[bytes] = []
        at = 0
        while True:
            if self._until:
                at = self._pass(data, at, done)
                if self._until:
                    break
            mark = MARK.search(data, at)
            if mark is None:
                cut = _start_of_mark(data, at)
                done.append(data[at:cut])
                self._held = data[cut:]
                break
            done.append(data[at : mark.start()])
            if mark[0] != b"&":
                done.append(mark[0])
                self._until = ENDS[mark[0]]
            elif OPEN_END.match(data, mark.start()) is not None:
                self._held = data[mark.start() :]
                break
            else:
                self.bare += 1
                done.append(b"&amp;")
            at = mark.end()
        return b"".join(done)

    def _pass(self, data: bytes, at: int, done: list[bytes]) -> int:
        """Pass the section through, as far as it is here; where it ends."""
        end = data.find(self._until, at)
        if end < 0:
            cut = max(at, len(data) - len(self._until) + 1)
            done.append(data[at:cut])
            self._held = data[cut:]
            return cut
        end += len(self._until)
        done.append(data[at:end])
        self._until = b""
        return end


def _start_of_mark(data: bytes, at: int) -> int:
    """Where the beginning of a section may stand at the end of the data; the end when there is none."""
    start = data.rfind(b"<", max(at, len(data) - LONGEST + 1))
    if start >= 0 and any(mark.startswith(data[start:]) for mark in ENDS):
        return start
    return len(data)
