"""The tables of the job ledger, and how those of an older version become these.

SQLite and PostgreSQL take the same statements, but for two types. The long columns are last, so that SQLite reads the
others without them.
"""

from layoutray.serving.jobs.database_server import ServerKind
from layoutray.store.database import FileKind

_WEBHOOKS_AND_PAGES = """
    CREATE INDEX contents_of_documents ON documents (job, content, state, number);
    CREATE TABLE pages (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        number INTEGER NOT NULL,
        content TEXT NOT NULL,
        page INTEGER NOT NULL,
        model_version TEXT NOT NULL,
        shown TEXT,
        outcome TEXT,
        PRIMARY KEY (job, number),
        UNIQUE (job, content, page)
    );
    CREATE TABLE webhooks (
        job TEXT PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
        url TEXT NOT NULL,
        host TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting',
        due DOUBLE PRECISION
    );
    CREATE INDEX due_webhooks ON webhooks (state, due);
    CREATE TABLE deliveries (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        attempt INTEGER NOT NULL,
        sent DOUBLE PRECISION NOT NULL,
        milliseconds DOUBLE PRECISION NOT NULL,
        status INTEGER,
        error TEXT,
        PRIMARY KEY (job, attempt)
    );
    CREATE TABLE webhook_secrets (
        owner TEXT PRIMARY KEY,
        secret TEXT NOT NULL
    )
"""


def _tables(number: str, content: str) -> str:
    """Statements that create the tables, from the types of a number that is never used twice, and of bytes."""
    return f"""
        CREATE TABLE jobs (
            id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            idempotency_key TEXT,
            fingerprint TEXT NOT NULL,
            options TEXT NOT NULL,
            created DOUBLE PRECISION NOT NULL,
            ended DOUBLE PRECISION,
            cancelled INTEGER NOT NULL DEFAULT 0,
            UNIQUE (owner, idempotency_key)
        );
        CREATE TABLE documents (
            number {number},
            job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
            doc_id TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'waiting',
            pages INTEGER,
            starts INTEGER NOT NULL DEFAULT 0,
            ended INTEGER,
            address TEXT,
            content TEXT,
            result TEXT,
            data {content},
            UNIQUE (job, doc_id),
            UNIQUE (job, ended)
        );
        CREATE INDEX waiting ON documents (state, (pages IS NULL), number);
        CREATE INDEX progress ON documents (job, state, pages);
        CREATE TABLE files (
            job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
            position INTEGER NOT NULL,
            name TEXT NOT NULL,
            doc_id TEXT NOT NULL,
            PRIMARY KEY (job, position)
        );
        CREATE INDEX contents ON files (job, doc_id, position);
        {_WEBHOOKS_AND_PAGES}
    """


_NAME, _NUMBER, _VERSION = "job ledger", 0x6C726A62, 2  # "lrjb"

LEDGER = FileKind(
    _NAME,
    application_id=_NUMBER,
    version=_VERSION,
    # An accepted job survives a loss of power. What is deleted is overwritten, and its space is given back.
    settings=("auto_vacuum = FULL", "synchronous = FULL", "secure_delete = ON"),
    tables=_tables("INTEGER PRIMARY KEY AUTOINCREMENT", "BLOB"),
    # A file of version 1 has no objects of buckets: the name of each document is the hash of its content.
    migrations={
        1: f"""
            ALTER TABLE documents ADD COLUMN address TEXT;
            ALTER TABLE documents ADD COLUMN content TEXT;
            UPDATE documents SET content = doc_id;
            {_WEBHOOKS_AND_PAGES}
        """
    },
)

# Autovacuum, every minute by default, removes whatever was deleted, and does not wait until that is a fifth of a table.
# It counts again after 500 changes, because an index that is right for a few rows is wrong for a large job.
_EAGER = ", ".join(
    (
        *(
            f"{table}autovacuum_vacuum_{limit} = 0"
            for table in ("", "toast.")
            for limit in ("threshold", "scale_factor")
        ),
        "autovacuum_analyze_threshold = 500",
        "autovacuum_analyze_scale_factor = 0",
    )
)

SERVER_LEDGER = ServerKind(
    _NAME,
    mark="layoutray_job_ledger",
    lock=_NUMBER,
    version=_VERSION,
    tables=f"""
        {_tables("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "BYTEA")};
        ALTER TABLE documents SET ({_EAGER});
        ALTER TABLE files SET ({_EAGER});
        ALTER TABLE pages SET ({_EAGER})
    """,
)
