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
# The same within a value, where a URL is written with %XX.
LOGIN_WITHIN: Final = re.compile(r"(%3a%2f%2f)(?:(?!%2f|%3f|%23)[^/\\?#&\s])*%40", re.IGNORECASE)
# What a parameter is called whose value is nobody's business: with one of these as a word of its name,
WORDS: Final = frozenset(
    [
        "assertion",
        "auth",
        "authentication",
        "authenticity",
        "authorisation",
        "authorization",
        "cred",
        "creds",
        "jwt",
        "nonce",
        "oauth",
        "otp",
        "pass",
        "passphrase",
        "pin",
        "pw",
        "saml",
        "secrets",
        "sess",
        "sid",
        "sig",
        "sign",
        "sigs",
        "tok",
        "totp",
    ]
)
# with a word that ends so (accesstoken), or has this anywhere in it (aspsessionidxy),
ENDINGS: Final = ("bearer", "secret", "token")
WITHIN: Final = (
    *("apikey", "credential", "csrf", "hmac", "passcode", "passphrase", "passw"),
    *("pwd", "sessid", "sessionid", "signature", "xsrf"),
)
# run together with others,
TOGETHER: Final = re.compile(
    r"(?:access|account|app|auth|client|dev|developer|encryption|license|master|private|secret|service|session"
    r"|shared|signing|storage|subscription|user)+keys?(?:id)?"
    r"|(?:access|activation|auth|confirmation|login|mfa|otp|recovery|reset|security|unlock|verification)code"
    r"|(?:admin|db|ftp|my|new|old|smtp|user)(?:pass|pw|pin)"
    r"|oauth[a-z]+"
)
# with one of these at its end (AccessKeyId, too), unless it is the key of a table,
LAST: Final = frozenset({"cookie", "cookies", "key", "keys", "session"})
TRAILING: Final = frozenset({"id", "value"})
OF_A_TABLE: Final = frozenset({"foreign", "group", "hot", "order", "partition", "primary", "sort"})
# with a code of this kind,
CODES: Final = frozenset(
    [
        "access",
        "activation",
        "backup",
        "confirmation",
        "confirm",
        "fa",
        "login",
        "mfa",
        "recovery",
        "reset",
        "security",
        "sms",
        "unlock",
        "verification",
        "verify",
    ]
)
# or as the whole of it: there are postcodes and tickets, too.
WHOLE: Final = frozenset({"code", "ticket", "tokens"})
# Either as it is, or within a value, where a URL is written with %XX.
PARAMETER: Final = re.compile(
    r"[?&;#]([^=&;#?\s]+)=|%(?:3f|26|3b|23)((?:[^=&;#?\s%]|%25[0-9a-f]{2})+)%3d", re.IGNORECASE
)
VALUE: Final = re.compile(r"[^&\s]+")
VALUE_WITHIN: Final = re.compile(r"(?:(?!%26)[^&\s])+", re.IGNORECASE)
BETWEEN: Final = re.compile(r"[^A-Za-z]+")
CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


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
    within = "%3a%2f%2f" in text.lower()
    if within:
        text = LOGIN_WITHIN.sub(r"\1***%40", text)
    return _without_values(text) if within or "://" in text else text


def _without_values(text: str) -> str:
    kept, at = [], 0
    for found in PARAMETER.finditer(text):
        if found.start() < at or not _is_secret(found[1] or unquote(found[2])):
            continue
        value = (VALUE if found[1] else VALUE_WITHIN).match(text, found.end())
        if value is not None:
            kept += [text[at : found.end()], "***"]
            at = value.end()
    return "".join((*kept, text[at:]))


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    name = unquote(name)
    runs = [run for run in BETWEEN.split(name) if run]
    words = [word.lower() for run in runs for word in CAMEL.split(run)]
    return (
        name.lower() in WHOLE
        or any(map(_is_secret_word, words))
        or any(_is_secret_word(run.lower()) for run in runs)  # TOken is no camel
        or _is_secret_phrase(words)
    )


def _is_secret_word(word: str) -> bool:
    return (
        word in WORDS
        or word.endswith(ENDINGS)
        or any(part in word for part in WITHIN)
        or TOGETHER.fullmatch(word) is not None
    )


def _is_secret_phrase(words: list[str]) -> bool:
    """Whether words are secret by their order: an API's key, but neither a sort key nor key features."""
    words = list(words)
    while len(words) > 1 and words[-1] in TRAILING:
        words.pop()
    last, before = words[-1:], words[-2:-1]
    if not LAST.isdisjoint(last):
        return OF_A_TABLE.isdisjoint(before)
    return last == ["code"] and not CODES.isdisjoint(before)
