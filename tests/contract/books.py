"""The books of the queue: what its counters and side tables say, held against its tasks."""

from fyke.store.conn import Conn

__all__ = ["differences"]

# Each names a mistake and selects the rows that show it.
BOOKS = {
    "queue.queued": """
        SELECT q.lane, q.job, q.queued, count(t.id) FROM queues q
        LEFT JOIN tasks t ON t.lane = q.lane AND t.job = q.job AND t.state = 0
        GROUP BY q.lane, q.job, q.queued HAVING q.queued <> count(t.id)""",
    "task without a queue": """
        SELECT t.id FROM tasks t LEFT JOIN queues q ON t.lane = q.lane AND t.job = q.job
        WHERE q.lane IS NULL""",
    "task below its low-water mark": """
        SELECT q.lane, q.job, q.low, t.place FROM queues q
        JOIN tasks t ON t.lane = q.lane AND t.job = q.job AND t.state = 0 WHERE t.place < q.low""",
    "lane.queued": """
        SELECT l.id, l.queued, coalesce(sum(q.queued), 0) FROM lanes l
        LEFT JOIN queues q ON q.lane = l.id AND q.active = 1
        GROUP BY l.id, l.queued HAVING l.queued <> coalesce(sum(q.queued), 0)""",
    "lane.in_flight": """
        SELECT l.id, l.in_flight, count(t.id) FROM lanes l
        LEFT JOIN tasks t ON t.lane = l.id AND t.state = 2
        GROUP BY l.id, l.in_flight HAVING l.in_flight <> count(t.id)""",
    "lane.cap exceeded": "SELECT id, cap, in_flight FROM lanes WHERE cap > 0 AND in_flight > cap",
    "lane.waiting": """
        SELECT id, waiting, queued, in_flight FROM lanes WHERE waiting <>
        CASE WHEN queued > 0 AND (cap = 0 OR in_flight < cap) THEN 1 ELSE 0 END""",
    "job.open": """
        SELECT j.id, j.open, count(t.id) FROM jobs j LEFT JOIN tasks t ON t.job = j.id
        GROUP BY j.id, j.open HAVING j.open <> count(t.id)""",
    "job.in_flight": """
        SELECT j.id, j.in_flight, count(t.id) FROM jobs j LEFT JOIN tasks t ON t.job = j.id AND t.state = 2
        GROUP BY j.id, j.in_flight HAVING j.in_flight <> count(t.id)""",
    "job.cap exceeded": "SELECT id, cap, in_flight FROM jobs WHERE cap > 0 AND in_flight > cap",
    "job.total": """
        SELECT j.id, j.total FROM jobs j WHERE j.total <>
        (SELECT count(*) FROM tasks t WHERE t.job = j.id AND t.kind = 'page')
        + (SELECT count(*) FROM finished f WHERE f.job = j.id AND f.kind = 'page')""",
    "job.succeeded": """
        SELECT j.id, j.succeeded FROM jobs j WHERE j.succeeded <> (SELECT count(*) FROM finished f
        WHERE f.job = j.id AND f.kind = 'page' AND f.verdict = 'succeeded')""",
    "job.failed": """
        SELECT j.id, j.failed FROM jobs j WHERE j.failed <> (SELECT count(*) FROM finished f
        WHERE f.job = j.id AND f.kind = 'page' AND f.verdict IN ('failed', 'quarantined'))""",
    "job.skipped": """
        SELECT j.id, j.skipped FROM jobs j WHERE j.skipped <> (SELECT count(*) FROM finished f
        WHERE f.job = j.id AND f.kind = 'page' AND f.verdict = 'skipped')""",
    "job in its last phase without a last task": """
        SELECT j.id, j.phase FROM jobs j WHERE (CASE WHEN j.phase = 'finish' THEN 1 ELSE 0 END) <>
        (SELECT count(*) FROM tasks t WHERE t.kind = 'finish' AND t.payload = {finish})""",
    "job over but not ended": """
        SELECT id, phase, state FROM jobs WHERE phase = 'crawl' AND open = 0
        OR (phase = 'done') <> (state IN ('succeeded', 'partial', 'failed', 'stopped', 'cancelled'))""",
    "lease of a task": """
        SELECT t.id, t.state, t.lease FROM tasks t LEFT JOIN leases l ON l.id = t.lease
        WHERE (t.state = 2) <> (t.lease IS NOT NULL) OR (t.lease IS NOT NULL AND l.id IS NULL)""",
    "delayed": """
        SELECT t.id, t.state, d.due FROM tasks t LEFT JOIN delays d ON d.task = t.id
        WHERE (t.state = 1) <> (d.task IS NOT NULL)""",
    "suspects": """
        SELECT t.id, t.state, s.due FROM tasks t LEFT JOIN suspects s ON s.task = t.id
        WHERE (t.state = 3) <> (s.task IS NOT NULL)""",
    "rows of tasks that are gone": """
        SELECT task FROM delays WHERE task NOT IN (SELECT id FROM tasks)
        UNION ALL SELECT task FROM suspects WHERE task NOT IN (SELECT id FROM tasks)
        UNION ALL SELECT task FROM dedupe_keys WHERE task NOT IN (SELECT id FROM tasks)""",
    "running alone": """
        SELECT a.task, a.lease, t.lease FROM alone a LEFT JOIN tasks t ON t.id = a.task
        WHERE t.lease IS NULL OR t.lease <> a.lease""",
    "dedupe": """
        SELECT t.id FROM tasks t LEFT JOIN dedupe_keys d ON d.task = t.id AND d.dedupe = t.dedupe
        WHERE (t.dedupe IS NOT NULL) <> (d.task IS NOT NULL)""",
    "done and still there": "SELECT t.id FROM tasks t JOIN finished f ON f.task = t.id",
}
FINISH = {
    "sqlite": "'{\"job\":' || j.id || '}'",
    "postgres": "'{\"job\":' || j.id || '}'",
    "mysql": "concat('{\"job\":', j.id, '}')",
}


async def differences(conn: Conn) -> list[str]:
    """What does not agree, in words."""
    name = type(conn).__name__.removesuffix("Conn").lower()
    return [
        f"{mistake}: {tuple(row)}"
        for mistake, sql in BOOKS.items()
        for row in await conn.fetch(sql.replace("{finish}", FINISH[name]))
    ]
