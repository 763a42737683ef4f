"""Which URLs a request may carry, as one pattern: what it lets through can be read by core.urls, and
OpenAPI can say it.

Host names may be international. What comes after the host is free, and read as a browser reads it.
"""

from typing import Final

__all__ = ["MAX_URL", "URL"]

MAX_URL: Final = 8192

LETTERS: Final = "A-Za-zà-öø-ÿа-яα-ρσ-ω一-龥ぁ-んァ-ヶ가-힣"
INNER: Final = f"[{LETTERS}0-9_-]{{0,61}}[{LETTERS}0-9_]"
LABEL: Final = f"[{LETTERS}0-9_](?:{INNER})?"
LAST: Final = f"[{LETTERS}](?:{INNER})?"  # one that began with a digit would be read as an address
OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
GROUP: Final = "[0-9A-Fa-f]{1,4}"
IPV6: Final = rf"\[(?:(?:{GROUP}:){{7}}{GROUP}|::|::(?:{GROUP}:){{0,6}}{GROUP}|(?:{GROUP}:){{1,6}}:{GROUP})\]"
PORT: Final = r"(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HOST: Final = rf"(?:(?:{LABEL}\.){{0,30}}{LAST}\.?|{OCTET}(?:\.{OCTET}){{3}}|{IPV6})"

URL: Final = rf"^[Hh][Tt][Tt][Pp][Ss]?://{HOST}(?::{PORT})?(?:[/?#][^\x00-\x1f\x7f]*)?$"
