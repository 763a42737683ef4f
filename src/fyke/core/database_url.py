"""What is wrong with a database's URL, told without its parts: any of them may be a password."""

import re
from typing import Final
from urllib.parse import parse_qs, urlsplit

__all__ = ["why_unusable"]

SHARED: Final = ("postgresql", "postgres", "mysql", "mariadb")
KNOWN: Final = ", ".join(("sqlite", *SHARED))
ESCAPED: Final = "special characters in a user name or password are written as %XX: / is %2F, @ is %40"
# A user and a password, a host, and no @ behind them: nothing that would end a part stands bare in it.
PARTS: Final = re.compile(r"(?:[^@/?#]*@)?[^@/?#]*(?:/[^@?#]*)?(?:\?[^@#]*)?")


def why_unusable(url: str) -> str | None:
    """Why no database can be opened by the URL; None when one may."""
    scheme, found, rest = url.partition("://")
    if not found:
        return f"a URL such as postgresql://user@host/name is expected, of {KNOWN}"
    if scheme == "sqlite":
        return _why_no_file(rest)
    if scheme not in SHARED:
        return f"no database for {scheme!r}: use one of {KNOWN}"
    if re.search(r"[\s\x00-\x1f\x7f]", rest) or not PARTS.fullmatch(rest):
        return ESCAPED
    try:
        parts = urlsplit(url)
        port = parts.port  # reading it is what judges it
        if parts.query:
            parse_qs(parts.query, strict_parsing=True)
    except ValueError:
        return f"its host, port or options cannot be read; {ESCAPED}"
    if port == 0 or (parts.hostname is None and parts.netloc.rpartition("@")[2]):
        return "its host or port is none that can be connected to"
    if scheme in ("mysql", "mariadb") and not parts.path.strip("/"):
        return f"{scheme}://user@host/name is expected, with the name of a database"
    return None


def _why_no_file(rest: str) -> str | None:
    path = rest.removeprefix("/")
    if path == rest or path in ("", ":memory:") or path.endswith("/") or "\0" in path:
        return "sqlite:///relative/path or sqlite:////absolute/path of a file is expected"
    return None
