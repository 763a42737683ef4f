"""What people read must not tell: user names and passwords in URLs, keys in their queries."""

import re
from typing import Final

__all__ = ["hide_login", "redact"]

# A browser takes any number of slashes, either way round, and the last @ before the path. A password may
# have a ? or # in it where it is no browser that reads (a database's URL).
LOGIN: Final = re.compile(
    r"(\b(?:https?|ftp|wss?):[/\\]*|[/\\]{2})(?:[^/\\?#\s]*|[^/\\?#\s]*:[^/\\\s@]*)@", re.IGNORECASE
)
QUERY_SECRET: Final = re.compile(
    r"([?&](?:[^=&\s]*(?:token|key|secret|passw|auth|sig)[^=&\s]*)=)[^&\s]+", re.IGNORECASE
)


def hide_login(text: str) -> str:
    """A text without the user names and passwords that URLs in it carry."""
    return LOGIN.sub(r"\1***@", text) if "@" in text else text


def redact(text: str) -> str:
    """A text without any credentials that URLs in it carry, in their queries either."""
    text = hide_login(text)
    return QUERY_SECRET.sub(r"\1***", text) if "://" in text else text
