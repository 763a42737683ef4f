"""What people read must not tell: user names and passwords in URLs, keys in their queries."""

import re
from typing import Final

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
QUERY_SECRET: Final = re.compile(
    r"([?&](?:[^=&\s]*(?:token|key|secret|passw|auth|sig)[^=&\s]*)=)[^&\s]+", re.IGNORECASE
)


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
    return QUERY_SECRET.sub(r"\1***", text) if "://" in text else text
