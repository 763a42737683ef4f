"""Which URLs a request may carry, as OpenAPI can say it.

What the pattern lets through can be read by core.urls. More is taken than it says (addresses, if the
operator allows them; white space around a URL): how a URL is read in the end, a pattern cannot tell.
"""

from typing import Final

__all__ = ["MAX_URL", "URL"]

MAX_URL: Final = 8192

LETTERS: Final = "A-Za-zà-öø-ÿа-яα-ρσ-ω一-龥ぁ-んァ-ヶ가-힣"
INNER: Final = f"[{LETTERS}0-9_-]{{0,61}}[{LETTERS}0-9_]"
LABEL: Final = f"[{LETTERS}0-9_](?:{INNER})?"
LAST: Final = f"[{LETTERS}](?:{INNER})?"  # one that began with a digit would be read as an address
PORT: Final = r"(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

URL: Final = rf"^[Hh][Tt][Tt][Pp][Ss]?://(?:{LABEL}\.){{1,30}}{LAST}(?::{PORT})?(?:[/?#][^\x00-\x1f\x7f]*)?$"
