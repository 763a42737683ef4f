"""Every table, once. Migrations make them; a test holds the two equal.

Times are µs since the epoch; JSON is text; keys made from text are 16 bytes (see core.ids).
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)
from sqlalchemy import text as sql_text
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import SchemaItem

__all__ = ["metadata"]

metadata = MetaData()

LONG_TEXT = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
LONG_BYTES = LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")
KEY16 = LargeBinary(16).with_variant(mysql.BINARY(16), "mysql", "mariadb")
KEY32 = LargeBinary(32).with_variant(mysql.BINARY(32), "mysql", "mariadb")
# SQLite keeps a table by a key of exactly this type; by any other it keeps a second index.
ID = BigInteger().with_variant(Integer(), "sqlite")
MYSQL: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mysql_row_format": "DYNAMIC",
}


# Rows of the queue die all the time: what is dead is cleared away, and the planner told, long before
# it is the fifth and the tenth part of a table that PostgreSQL waits for by itself.
BUSY: dict[str, Any] = {
    "postgresql_with": {
        "autovacuum_vacuum_scale_factor": "0.02",
        "autovacuum_analyze_scale_factor": "0.05",
        "autovacuum_vacuum_cost_delay": "0",
    }
}


# Short rows whose key is not one number: in SQLite kept by it, instead of by a number of their own and an
# index from the key to that.
BY_KEY: dict[str, Any] = {"sqlite_with_rowid": False}


def table(name: str, *parts: SchemaItem, **more: Any) -> Any:
    return Table(name, metadata, *parts, **MYSQL, **more)


def big(name: str, default: int | None = 0, *, key: bool = False) -> Column[int]:
    """A 64-bit number; without a default it may be null, unless it is part of the key."""
    if key:
        return Column(name, ID, primary_key=True, autoincrement=False)
    if default is None:
        return Column(name, BigInteger)
    return Column(name, BigInteger, nullable=False, server_default=str(default))


def small(name: str, default: int = 0) -> Column[int]:
    return Column(name, SmallInteger, nullable=False, server_default=str(default))


def number(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default="0")


def word(name: str, length: int = 255, *, null: bool = False) -> Column[str]:
    return Column(name, String(length), nullable=null)


# What indexes they have; several may be named, whatever the type of ddl_if says.
PARTIAL: Any = ("sqlite", "postgresql")
WHOLE: Any = ("mysql", "mariadb")


def where(condition: str) -> dict[str, Any]:
    """A partial index, for those that have them."""
    return {"sqlite_where": sql_text(condition), "postgresql_where": sql_text(condition)}


def text(name: str, *, null: bool = True) -> Column[str]:
    return Column(name, LONG_TEXT, nullable=null)


# --- the queue -----------------------------------------------------------------------------------

jobs = table(
    "jobs",
    big("id", key=True),
    word("source_kind", 16),
    text("source", null=False),
    Column("definition", KEY16, nullable=False),
    word("domain"),
    word("target", 64),
    text("options", null=False),
    word("state", 12),
    word("phase", 8),  # crawl, finish, done
    word("stop", 32, null=True),  # why no more of its tasks are handed out
    word("close_reason", 64, null=True),
    text("error_message"),
    small("band"),
    number("cap"),
    number("in_flight"),
    big("open"),
    small("planned"),
    big("total"),
    big("succeeded"),
    big("failed"),
    big("skipped"),
    big("bytes"),
    big("residential_bytes"),
    big("max_urls"),
    big("budget_bytes"),
    big("budget_residential"),
    big("time_limit"),
    big("deadline_at"),
    number("warnings"),
    big("links_left"),
    big("event_number"),
    small("hidden"),
    small("lively", 1),  # its queues may be active
    big("created_at"),
    big("started_at", None),
    big("finished_at", None),
    Index("jobs_created", "created_at", "id"),
    Index("jobs_domain", "domain", "id"),
    Index("jobs_state", "hidden", "state", "id"),
    Index("jobs_definition", "definition", "id"),
    Index("jobs_phase", "phase", "state"),
    Index("jobs_lively", "lively", "phase"),
    **BUSY,
)

lanes = table(
    "lanes",
    big("id", key=True),
    word("name", 300),
    small("waiting"),
    small("band"),
    big("look_at"),
    big("next_slot"),
    big("spacing"),
    big("base_spacing"),
    number("burst"),
    number("cap"),
    big("queued"),
    number("in_flight"),
    big("slow_until"),
    Index("lanes_claim", "waiting", "band", "look_at"),
    **BUSY,
)

queues = table(
    "queues",
    big("lane", key=True),
    big("job", key=True),
    big("queued"),
    big("low"),
    big("turn"),
    small("active", 1),  # see queue.activity
    Index("queues_job", "job", "active", "lane"),
    **BUSY,
    **BY_KEY,
)

tasks = table(
    "tasks",
    big("id", key=True),
    big("job"),
    big("lane"),
    word("kind", 8),
    small("state"),  # 0 ready, 1 delayed, 2 leased, 3 suspect
    big("place"),
    big("seq"),
    number("claims"),
    small("attempt"),
    small("strikes"),
    big("lease", None),
    Column("dedupe", KEY16),
    text("url", null=False),
    text("payload", null=False),
    # Where the database has partial indexes, a task leaves the first when it is claimed and is in the
    # second only while it is leased; elsewhere the state in the key has to do. In a partial one it must not
    # stand: PostgreSQL takes it as said by the condition, and finds no place without it in the key.
    Index("tasks_claim", "lane", "job", "place", **where("state = 0")).ddl_if(dialect=PARTIAL),
    Index("tasks_claim", "lane", "job", "state", "place").ddl_if(dialect=WHOLE),
    Index("tasks_lease", "lease", **where("lease IS NOT NULL")),
    **BUSY,
)

delays = table(
    "delays",
    big("task", key=True),
    big("job"),
    big("due"),
    Index("delays_due", "due"),
    Index("delays_job", "job"),
    **BUSY,
)

suspects = table(
    "suspects",
    big("task", key=True),
    big("job"),
    big("due"),
    Index("suspects_due", "due"),
    Index("suspects_job", "job", "due"),
)

alone = table(  # suspects that run now, and under which lease
    "alone",
    big("task", key=True),
    big("lease"),
    Index("alone_lease", "lease"),
)

dedupe_keys = table(
    "dedupe_keys",
    Column("dedupe", KEY16, primary_key=True),
    big("task"),
    **BUSY,
    **BY_KEY,
)

leases = table(
    "leases",
    big("id", key=True),
    word("worker"),
    word("host"),
    big("pid"),
    big("opened_at"),
    big("until"),
    Index("leases_until", "until"),
    **BUSY,
)

finished = table(
    "finished",
    big("task", key=True),
    big("job"),
    big("lease"),
    number("claims"),
    word("kind", 8),
    big("seq"),
    word("verdict", 12),
    big("at"),
)

seen = table(
    "seen",
    big("job", key=True),
    Column("url_key", KEY16, primary_key=True),
    **BY_KEY,
)

links_left = table(  # what pages link to and the budget of URLs did not allow: a resume may
    "links_left",
    big("job", key=True),
    big("seq", key=True),
    text("url", null=False),
    text("payload", null=False),
    **BY_KEY,
)

sources = table(
    "sources",
    big("job", key=True),
    big("number", key=True),
    word("kind", 16),
    text("location", null=False),
    text("lane", null=False),
    small("depth"),
    word("state", 8),  # waiting, reading, read, failed
    big("first_seq"),
    big("entries"),
    number("warnings"),
    text("message"),
)

# --- results -------------------------------------------------------------------------------------

pages = table(
    "pages",
    big("job", key=True),
    big("seq", key=True),
    big("task"),
    word("state", 12),
    text("url", null=False),
    text("final_url"),
    Column("http_status", Integer),
    big("fetched_at"),
    text("title"),
    text("h1"),
    word("content_hash", 64, null=True),
    big("bytes_in"),
    text("data_full"),
    text("data_seo"),
    word("error_class", 64, null=True),
    text("error_message"),
    number("retry_count"),
    word("strategy_used", 32, null=True),
    word("proxy_used", 255, null=True),
    number("elapsed_ms"),
    word("body_object", 255, null=True),
    big("body_offset"),
    big("body_length"),
    text("payload"),  # of a failure: what its task carried
)

changes = table(
    "changes",
    big("job", key=True),
    big("seq", key=True),
    text("url", null=False),
    word("change_type", 12),
    big("prev_at", None),
    big("curr_at"),
    text("fields_changed", null=False),
    word("price_prev", 64, null=True),
    word("price_curr", 64, null=True),
    word("availability_prev", 64, null=True),
    word("availability_curr", 64, null=True),
    text("title_prev"),
    text("title_curr"),
    **BY_KEY,
)

snapshots = table(
    "snapshots",
    Column("url_key", KEY16, primary_key=True),
    Column("target", String(64), primary_key=True),
    text("url", null=False),
    word("domain"),
    word("last_hash", 64, null=True),
    text("last_title"),
    text("last_h1"),
    text("last_data", null=False),
    big("last_crawl_at"),
)

exports = table(
    "exports",
    big("id", key=True),
    big("job"),
    word("type", 8),
    word("format", 8),
    word("object", 255),
    big("size_bytes"),
    big("row_count"),
    big("created_at"),
    Index("exports_job", "job", "type", "format", unique=True),
)

metrics = table(
    "metrics",
    big("job", key=True),
    big("at", key=True),
    Column("name", String(64), primary_key=True),
    Column("value", Double, nullable=False),
    text("labels", null=False),
    **BY_KEY,
)

events = table(
    "events",
    big("job", key=True),
    big("number", key=True),
    big("at"),
    word("type", 16),
    text("data", null=False),
    **BY_KEY,
)

robots = table(
    "robots",
    Column("origin_key", KEY16, primary_key=True),
    text("origin", null=False),
    word("verdict", 12),
    Column("body", LONG_BYTES, nullable=False),
    big("fetched_at"),
    big("expires_at"),
)

# --- faces ---------------------------------------------------------------------------------------

outbox = table(
    "outbox",
    big("id", key=True),
    word("topic", 64),
    text("payload", null=False),
    word("state", 12),
    number("attempts"),
    big("due"),
    big("created_at"),
    Index("outbox_due", "state", "due"),
)

keys = table(
    "api_keys",
    big("id", key=True),
    word("name", 200),
    Column("hash", KEY32, nullable=False),
    word("scopes", 100),
    big("created_at"),
    big("last_used_at", None),
    Index("api_keys_hash", "hash", unique=True),
)

idempotency = table(
    "idempotency",
    Column("key_hash", KEY32, primary_key=True),
    Column("body_hash", KEY32, nullable=False),
    Column("status", Integer, nullable=False),
    text("response", null=False),
    big("created_at"),
    Index("idempotency_created", "created_at"),
)
