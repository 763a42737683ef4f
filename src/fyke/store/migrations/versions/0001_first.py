"""The first schema."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from fyke.store.migrations.steps import create_index, create_table, has_partial_indexes

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
BUSY = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_analyze_scale_factor": "0.05",
    "autovacuum_vacuum_cost_delay": "0",
}


def upgrade() -> None:
    create_table(
        "alone",
        sa.Column("task", ID, autoincrement=False, nullable=False),
        sa.Column("lease", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("task"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("alone_lease", "alone", ["lease"], unique=False)
    create_table(
        "changes",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("seq", ID, autoincrement=False, nullable=False),
        sa.Column(
            "url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("change_type", sa.String(length=12), nullable=False),
        sa.Column("prev_at", sa.BigInteger(), nullable=True),
        sa.Column("curr_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "fields_changed",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("price_prev", sa.String(length=64), nullable=True),
        sa.Column("price_curr", sa.String(length=64), nullable=True),
        sa.Column("availability_prev", sa.String(length=64), nullable=True),
        sa.Column("availability_curr", sa.String(length=64), nullable=True),
        sa.Column(
            "title_prev",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "title_curr",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("job", "seq"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        sqlite_with_rowid=False,
    )
    create_table(
        "dedupe_keys",
        sa.Column(
            "dedupe",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=False,
        ),
        sa.Column("task", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("dedupe"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
        sqlite_with_rowid=False,
    )
    create_table(
        "delays",
        sa.Column("task", ID, autoincrement=False, nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("task"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
    )
    create_index("delays_due", "delays", ["due"], unique=False)
    create_index("delays_job", "delays", ["job"], unique=False)
    create_table(
        "events",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column(
            "data",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job", "number"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        sqlite_with_rowid=False,
    )
    create_table(
        "exports",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("type", sa.String(length=8), nullable=False),
        sa.Column("format", sa.String(length=8), nullable=False),
        sa.Column("object", sa.String(length=255), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("row_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("exports_job", "exports", ["job", "type", "format"], unique=True)
    create_table(
        "finished",
        sa.Column("task", ID, autoincrement=False, nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lease", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("verdict", sa.String(length=12), nullable=False),
        sa.Column("at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("task"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_table(
        "idempotency",
        sa.Column(
            "key_hash",
            sa.LargeBinary(length=32)
            .with_variant(sa.BINARY(length=32), "mariadb")
            .with_variant(sa.BINARY(length=32), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "body_hash",
            sa.LargeBinary(length=32)
            .with_variant(sa.BINARY(length=32), "mariadb")
            .with_variant(sa.BINARY(length=32), "mysql"),
            nullable=False,
        ),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column(
            "response",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("key_hash"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("idempotency_created", "idempotency", ["created_at"], unique=False)
    create_table(
        "jobs",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("source_kind", sa.String(length=16), nullable=False),
        sa.Column(
            "source",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "definition",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=False,
        ),
        sa.Column("domain", sa.String(length=255), nullable=False),
        sa.Column("target", sa.String(length=64), nullable=False),
        sa.Column(
            "options",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("phase", sa.String(length=8), nullable=False),
        sa.Column("stop", sa.String(length=32), nullable=True),
        sa.Column("close_reason", sa.String(length=64), nullable=True),
        sa.Column(
            "error_message",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("band", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("cap", sa.Integer(), server_default="0", nullable=False),
        sa.Column("in_flight", sa.Integer(), server_default="0", nullable=False),
        sa.Column("open", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("planned", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("total", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("succeeded", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("failed", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("skipped", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("residential_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("max_urls", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("budget_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("budget_residential", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("time_limit", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("deadline_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("warnings", sa.Integer(), server_default="0", nullable=False),
        sa.Column("links_left", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("event_number", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("hidden", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("lively", sa.SmallInteger(), server_default="1", nullable=False),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
    )
    create_index("jobs_created", "jobs", ["created_at", "id"], unique=False)
    create_index("jobs_definition", "jobs", ["definition", "id"], unique=False)
    create_index("jobs_domain", "jobs", ["domain", "id"], unique=False)
    create_index("jobs_lively", "jobs", ["lively", "phase"], unique=False)
    create_index("jobs_phase", "jobs", ["phase", "state"], unique=False)
    create_index("jobs_state", "jobs", ["hidden", "state", "id"], unique=False)
    create_table(
        "api_keys",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column(
            "hash",
            sa.LargeBinary(length=32)
            .with_variant(sa.BINARY(length=32), "mariadb")
            .with_variant(sa.BINARY(length=32), "mysql"),
            nullable=False,
        ),
        sa.Column("scopes", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_used_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("api_keys_hash", "api_keys", ["hash"], unique=True)
    create_table(
        "lanes",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("waiting", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("band", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("look_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_slot", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("spacing", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("base_spacing", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("burst", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cap", sa.Integer(), server_default="0", nullable=False),
        sa.Column("queued", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("in_flight", sa.Integer(), server_default="0", nullable=False),
        sa.Column("slow_until", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
    )
    create_index("lanes_claim", "lanes", ["waiting", "band", "look_at"], unique=False)
    create_table(
        "leases",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("worker", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("opened_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("until", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
    )
    create_index("leases_until", "leases", ["until"], unique=False)
    create_table(
        "metrics",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("at", ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column(
            "labels",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job", "at", "name"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        sqlite_with_rowid=False,
    )
    create_table(
        "outbox",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("topic", sa.String(length=64), nullable=False),
        sa.Column(
            "payload",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("outbox_due", "outbox", ["state", "due"], unique=False)
    create_table(
        "pages",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("seq", ID, autoincrement=False, nullable=False),
        sa.Column("task", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column(
            "url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "final_url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("fetched_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "title",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "h1",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("content_hash", sa.String(length=64), nullable=True),
        sa.Column("bytes_in", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "data_full",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "data_seo",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("error_class", sa.String(length=64), nullable=True),
        sa.Column(
            "error_message",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column("retry_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("strategy_used", sa.String(length=32), nullable=True),
        sa.Column("proxy_used", sa.String(length=255), nullable=True),
        sa.Column("elapsed_ms", sa.Integer(), server_default="0", nullable=False),
        sa.Column("body_object", sa.String(length=255), nullable=True),
        sa.Column("body_offset", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("body_length", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column(
            "payload",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("job", "seq"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_table(
        "queues",
        sa.Column("lane", ID, autoincrement=False, nullable=False),
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("queued", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("low", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("turn", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("active", sa.SmallInteger(), server_default="1", nullable=False),
        sa.PrimaryKeyConstraint("lane", "job"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
        sqlite_with_rowid=False,
    )
    create_index("queues_job", "queues", ["job", "active", "lane"], unique=False)
    create_table(
        "robots",
        sa.Column(
            "origin_key",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "origin",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("verdict", sa.String(length=12), nullable=False),
        sa.Column(
            "body",
            sa.LargeBinary()
            .with_variant(mysql.LONGBLOB(), "mariadb")
            .with_variant(mysql.LONGBLOB(), "mysql"),
            nullable=False,
        ),
        sa.Column("fetched_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("expires_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("origin_key"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_table(
        "seen",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column(
            "url_key",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job", "url_key"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        sqlite_with_rowid=False,
    )
    create_table(
        "links_left",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("seq", ID, autoincrement=False, nullable=False),
        sa.Column(
            "url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "payload",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job", "seq"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        sqlite_with_rowid=False,
    )
    create_table(
        "snapshots",
        sa.Column(
            "url_key",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=False,
        ),
        sa.Column("target", sa.String(length=64), nullable=False),
        sa.Column(
            "url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("domain", sa.String(length=255), nullable=False),
        sa.Column("last_hash", sa.String(length=64), nullable=True),
        sa.Column(
            "last_title",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "last_h1",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "last_data",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("last_crawl_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("url_key", "target"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_table(
        "sources",
        sa.Column("job", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column(
            "location",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "lane",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column("depth", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("first_seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("entries", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("warnings", sa.Integer(), server_default="0", nullable=False),
        sa.Column(
            "message",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=True,
        ),
        sa.PrimaryKeyConstraint("job", "number"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_table(
        "suspects",
        sa.Column("task", ID, autoincrement=False, nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("due", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("task"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
    )
    create_index("suspects_due", "suspects", ["due"], unique=False)
    create_index("suspects_job", "suspects", ["job", "due"], unique=False)
    create_table(
        "tasks",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("lane", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("state", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("place", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        sa.Column("attempt", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("strikes", sa.SmallInteger(), server_default="0", nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=True),
        sa.Column(
            "dedupe",
            sa.LargeBinary(length=16)
            .with_variant(sa.BINARY(length=16), "mariadb")
            .with_variant(sa.BINARY(length=16), "mysql"),
            nullable=True,
        ),
        sa.Column(
            "url",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.Column(
            "payload",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id"),
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mysql_engine="InnoDB",
        mysql_row_format="DYNAMIC",
        postgresql_with=BUSY,
    )
    create_index(
        "tasks_claim",
        "tasks",
        ["lane", "job", "place"] if has_partial_indexes() else ["lane", "job", "state", "place"],
        unique=False,
        sqlite_where=sa.text("state = 0"),
        postgresql_where=sa.text("state = 0"),
    )
    create_index(
        "tasks_lease",
        "tasks",
        ["lease"],
        unique=False,
        sqlite_where=sa.text("lease IS NOT NULL"),
        postgresql_where=sa.text("lease IS NOT NULL"),
    )
