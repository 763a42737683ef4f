"""The responses that are kept of pages: as evidence of a failure, or for a job that exports warc."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Response

from fyke.api.auth import guarded
from fyke.api.inputs import JobId, Parts
from fyke.api.openapi import gives_file
from fyke.core.errors import NotFound
from fyke.objects.segments import Place, read_body
from fyke.store.results import body_of

__all__ = ["router"]

router = APIRouter(prefix="/jobs/{job_id}", tags=["results"], route_class=guarded("read"))

BYTES: Final = "application/octet-stream"
LAST_SEQ: Final = (1 << 63) - 1

# A strange page must not become one of ours: it is shown by nobody, runs nothing, and is what it says.
HEADERS: Final = {
    "Content-Disposition": 'attachment; filename="body"',
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/pages/{seq}/body", **gives_file("The body, decompressed.", BYTES))
async def body(
    services: Parts,
    job: JobId,
    seq: Annotated[int, Path(ge=0, le=LAST_SEQ, description="The page's place in its job.")],
) -> Response:
    """The body of a page's last answer, where it is kept: see `body_url` of the page."""
    found = await services.database.read(lambda conn: body_of(conn, job, seq))
    if found is None:
        raise NotFound("no body is kept of this page")
    page = await read_body(services.bodies, Place(*found))
    return Response(page.body, media_type=BYTES, headers=HEADERS)
