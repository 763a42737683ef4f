"""What several routes take from a request."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request

from fyke.api.services import Services
from fyke.core.errors import ExportNotFound, JobNotFound, KeyNotFound, NotFound
from fyke.core.ids import from_public

__all__ = ["ExportId", "JobId", "KeyId", "Parts"]


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def _number(name: UUID, missing: type[NotFound]) -> int:
    """The id behind a UUID; one that Fyke never gave names nothing."""
    try:
        return from_public(str(name))
    except ValueError:
        raise missing from None


async def _job(job_id: Annotated[UUID, Path(description="The job's id.")]) -> int:
    return _number(job_id, JobNotFound)


async def _export(export_id: Annotated[UUID, Path(description="The export's id.")]) -> int:
    return _number(export_id, ExportNotFound)


async def _key(key_id: Annotated[UUID, Path(description="The key's id.")]) -> int:
    return _number(key_id, KeyNotFound)


Parts = Annotated[Services, Depends(_services)]
JobId = Annotated[int, Depends(_job)]
ExportId = Annotated[int, Depends(_export)]
KeyId = Annotated[int, Depends(_key)]
