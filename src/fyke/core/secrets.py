"""What people read must not tell: user names and passwords in URLs, keys in their queries."""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

__all__ = ["hide_login", "redact"]

# A browser takes any number of slashes, either way round, and the last @ before the path.
LOGIN: Final = re.compile(
    r"(\b(?:https?|ftp|wss?):[/\\]*|[/\\]{2})(?:[^/\\?#\s]*|[^/\\?#\s]*:[^/\\\s@]*)@", re.IGNORECASE
)
# Where it is no browser that reads (a database's URL), a password may have anything in it that nobody has
# written as %XX: all is hidden up to the last @.
SERVICE: Final = re.compile(
    r"(\b(?!(?:https?|ftp|wss?|sqlite):)[a-z][a-z0-9+.-]{0,30}://)(\S*)", re.IGNORECASE
)
# What a parameter is called whose value is nobody's business: with this anywhere in its name,
WITHIN: Final = (
    "auth",
    "bearer",
    "credential",
    "csrf",
    "hmac",
    "key",
    "passw",
    "pwd",
    "secret",
    "sessid",
    "session-id",
    "session_id",
    "sessionid",
    "sig",
    "token",
    "xsrf",
)
# as a word of it (connect.sid, user[pass]),
WORDS: Final = frozenset({"cookie", "cookies", "jwt", "otp", "pass", "passphrase", "sid", "totp"})
# or as the whole of it: there are postcodes and tickets, too.
WHOLE: Final = frozenset({"code", "session", "ticket"})
PARAMETER: Final = re.compile(r"[?&;#]([^=&;#?\s]+)=")
VALUE: Final = re.compile(r"[^&\s]+")
BETWEEN: Final = re.compile(r"[^a-z0-9]+")


def hide_login(text: str) -> str:
    """A text without the user names and passwords that URLs in it carry."""
    if "@" not in text:
        return text
    return LOGIN.sub(r"\1***@", SERVICE.sub(_without_login, text))


def _without_login(found: re.Match[str]) -> str:
    _, at, rest = found[2].rpartition("@")
    return f"{found[1]}***@{rest}" if at else found[0]


def redact(text: str) -> str:
    """A text without any credentials that URLs in it carry, in their queries either."""
    text = hide_login(text)
    return _without_values(text) if "://" in text else text


def _without_values(text: str) -> str:
    kept, at = [], 0
    for found in PARAMETER.finditer(text):
        value = VALUE.match(text, found.end()) if found.start() >= at and _is_secret(found[1]) else None
        if value is not None:
            kept += [text[at : found.end()], "***"]
            at = value.end()
    return "".join((*kept, text[at:]))


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    name = unquote(name).lower()
    return name in WHOLE or any(part in name for part in WITHIN) or not WORDS.isdisjoint(BETWEEN.split(name))
