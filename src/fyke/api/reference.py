"""/reference: the API, to be read and tried in a browser. Everything it needs comes from this package."""

import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated, Final

from fastapi import APIRouter, Header, Response

from fyke.api.openapi import gives_file

__all__ = ["router"]

router = APIRouter(tags=["operation"])

PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fyke: API reference</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<script src="/reference/scalar.js"></script>
<script src="/reference/start.js"></script>
</body>
</html>
"""
START: Final = """\
Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
});
"""
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
SHOWN_DAILY: Final = "public, max-age=86400"


@cache
def _script() -> tuple[bytes, str]:
    packed = files("fyke.api").joinpath("static/scalar.js.gz").read_bytes()
    return packed, f'"{sha256(packed).hexdigest()[:16]}"'


@router.get("/reference", **gives_file("A page to read and try the API.", "text/html; charset=utf-8"))
async def reference() -> Response:
    """The API reference."""
    return Response(PAGE, media_type="text/html", headers={"Content-Security-Policy": POLICY})


@router.get("/reference/start.js", include_in_schema=False)
async def start() -> Response:
    return Response(START, media_type="text/javascript")


@router.get("/reference/scalar.js", include_in_schema=False)
async def script(
    accepted: Annotated[str, Header(alias="Accept-Encoding")] = "",
    known: Annotated[str, Header(alias="If-None-Match")] = "",
) -> Response:
    """Scalar's script, as it was packed."""
    packed, tag = _script()
    headers = {"ETag": tag, "Cache-Control": SHOWN_DAILY, "Vary": "Accept-Encoding"}
    if known == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in accepted:
        headers["Content-Encoding"] = "gzip"
        return Response(packed, media_type="text/javascript", headers=headers)
    return Response(gzip.decompress(packed), media_type="text/javascript", headers=headers)
