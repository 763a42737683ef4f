"""Exports that have been made: found again, listed, registered."""

from msgspec import Struct

from fyke.core.errors import ExportNotFound, JobNotFound
from fyke.core.outcome import SaveExport
from fyke.store.conn import Conn

__all__ = ["Export", "get_export", "list_exports", "register_export", "register_made"]

COLUMNS = "e.id, e.job, e.type, e.format, e.object, e.size_bytes, e.row_count, e.created_at"
# Not NOT EXISTS, which MySQL answers from a list of all jobs.
VISIBLE = "coalesce((SELECT j.hidden FROM jobs j WHERE j.id = e.job), 0) = 0"


class Export(Struct, frozen=True):
    """An export's row."""

    id: int
    job: int
    type: str
    format: str
    object: str
    size_bytes: int
    row_count: int
    created_at: int


async def get_export(conn: Conn, export: int) -> Export:
    """The export; as good as gone when its job has been deleted."""
    rows = await conn.fetch(
        f"SELECT {COLUMNS} FROM exports e JOIN jobs j ON j.id = e.job WHERE e.id = $1 AND j.hidden = 0",
        export,
    )
    if not rows:
        raise ExportNotFound
    return Export(*rows[0])


async def list_exports(conn: Conn, job: int | None, after: int | None, limit: int) -> list[Export]:
    """Those of a job, or of all, newest first, after the one with the id `after`."""
    conditions, args = [VISIBLE], list[int]()
    for condition, value in (("e.job = ${}", job), ("e.id < ${}", after)):
        if value is not None:
            args.append(value)
            conditions.append(condition.format(len(args)))
    args.append(limit)
    rows = await conn.fetch(
        # Not a join: a planner might begin with the jobs, and sort all exports there are.
        f"SELECT {COLUMNS} FROM exports e"
        f" WHERE {' AND '.join(conditions)} ORDER BY e.id DESC LIMIT ${len(args)}",
        *args,
    )
    return [Export(*row) for row in rows]


async def register_export(conn: Conn, made: SaveExport) -> Export:
    """Take an export up; one of the same job, type and format gives way."""
    await conn.execute(
        "DELETE FROM exports WHERE job = $1 AND type = $2 AND format = $3", made.job, made.type, made.format
    )
    row = (made.id, made.job, made.type, made.format, made.object, made.size, made.rows, made.created_at)
    await conn.insert(
        "exports",
        ("id", "job", "type", "format", "object", "size_bytes", "row_count", "created_at"),
        [row],
    )
    return Export(*row)


async def register_made(conn: Conn, made: SaveExport) -> Export:
    """Take up an export that was made on demand; JobNotFound when its job has been deleted meanwhile. The
    job is locked: its deletion was before, or finds the row."""
    export = await register_export(conn, made)  # first, as settling has it: exports, then jobs
    if not await conn.fetch("SELECT 1 FROM jobs WHERE id = $1 AND hidden = 0{lock}", made.job):
        raise JobNotFound
    return export
