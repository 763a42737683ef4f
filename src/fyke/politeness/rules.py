"""A robots.txt as rules. Protego decides; what no rule could deny is let through without asking it.

Protego takes 10 µs a URL, and most URLs of a crawl begin like no Disallow line of the file. So the lines
are looked through once for what a URL must have to be denied: the beginning it must share, or, for
patterns with a wildcard, a piece it must contain. A URL that has none of it is allowed (under 1 µs).

A large file is another matter: 512 KiB take up to 0.3 s to parse, and up to 20 ms for each URL that Protego
is asked about. That is work for a thread: for one, since several would keep the event loop waiting for each.
What is kept of a file takes up to 36 times its size.
"""

import re
from asyncio import get_running_loop
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import unquote

from protego import Protego

__all__ = ["SIZE_LIMIT", "Rules", "ask_rules", "read_rules"]

SIZE_LIMIT: Final = 512 * 1024  # RFC 9309: at least 500 KiB are read, what follows may be ignored
SMALL: Final = 16 * 1024  # what is parsed within 4 ms, and asked within 1
# In the spellings that Protego takes for it, the colon left out among them.
DISALLOW: Final = re.compile(
    r"^[ \t]*(?:disallow|dissallow|dissalow|disalow|diasllow|disallaw)(?:[ \t]*:|[ \t])[ \t]*([^\s#]+)",
    re.IGNORECASE | re.MULTILINE,
)
PLAIN: Final = re.compile(r"[A-Za-z0-9/_.~=&?,:;@!()+-]+")
MOST_PIECES: Final = 40

# The thread starts with the first large file, and ends with the process.
_thread: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="robots")


class Rules:
    """The rules of one origin, for one crawler's name. Whether `large` ones allow a URL is nothing for the
    event loop to find out."""

    def __init__(self, body: bytes, agent: str) -> None:
        text = body[:SIZE_LIMIT].decode("utf-8-sig", "replace")
        self._protego = Protego.parse(text)
        self._agent = agent
        delay = self._protego.crawl_delay(agent)
        self.crawl_delay: float | None = float(delay) if delay is not None else None
        self.sitemaps: tuple[str, ...] = tuple(self._protego.sitemaps)
        self._prefixes, self._pieces, self._always_ask = _suspicions(text)
        self.large = len(body) > SMALL
        self.allows("https://first.invalid/%", "/%")  # the first question is the dearest

    def lets_through(self, path: str) -> bool:
        """Whether no rule could deny a path, query included."""
        return (
            not self._always_ask
            and "%" not in path
            and not path.startswith(self._prefixes)
            and not any(piece in path for piece in self._pieces)
        )

    def allows(self, url: str, path: str) -> bool:
        """Whether a canonical URL may be fetched; `path` is its path with the query."""
        return self.lets_through(path) or bool(self._protego.can_fetch(url, self._agent))


async def read_rules(body: bytes, agent: str) -> Rules:
    """The rules of a file; a large one is parsed in the thread."""
    if len(body) <= SMALL:
        return Rules(body, agent)
    return await get_running_loop().run_in_executor(_thread, Rules, body, agent)


async def ask_rules(rules: Rules, url: str, path: str) -> bool:
    """Rules.allows; large ones are asked in the thread."""
    if not rules.large:
        return rules.allows(url, path)
    return await get_running_loop().run_in_executor(_thread, rules.allows, url, path)


def _suspicions(text: str) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Beginnings and pieces one of which every URL has that a Disallow line could deny; and whether
    that cannot be told. Lines of all crawlers are taken together: too much suspicion costs only time.
    What a line escapes is compared as the character itself (RFC 9309, 2.2.2); a URL with an escape in it is
    always asked about."""
    prefixes: set[str] = set()
    pieces: set[str] = set()
    for match in DISALLOW.finditer("\n".join(text.splitlines())):
        pattern = unquote(match[1])
        runs: list[str] = PLAIN.findall(pattern)
        first = PLAIN.match(pattern)
        longest = max(runs, key=len, default="")
        if first is not None and first[0] == longest and longest.startswith("/"):
            prefixes.add(longest)
        elif len(longest) > 1:
            pieces.add(longest)
        else:
            return (), (), True
    if len(pieces) > MOST_PIECES:
        return (), (), True
    return tuple(prefixes), tuple(pieces), False
