"""The tables of the job ledger, and how those of an older file become these.

The long columns are last, so that SQLite reads the others without them.
"""

from functools import partial

import sqlalchemy as sa

from layoutray.store.database import FileKind, executed

VERSION = 2
METADATA = sa.MetaData()

# Autovacuum, every minute by default, removes whatever was deleted, and does not wait until that is a fifth of a table.
# It counts again after 500 changes, because an index that is right for a few rows is wrong for a large job.
_EAGER = {
    **{f"{table}autovacuum_vacuum_{limit}": 0 for table in ("", "toast.") for limit in ("threshold", "scale_factor")},
    "autovacuum_analyze_threshold": 500,
    "autovacuum_analyze_scale_factor": 0,
}


def _of_job(*, primary_key: bool = False) -> sa.Column[str]:
    """A column with the id of a job, whose row goes when the job is deleted."""
    job = sa.ForeignKey("jobs.id", ondelete="CASCADE")
    return sa.Column("job", sa.Text, job, primary_key=primary_key, nullable=False)


JOBS = sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("idempotency_key", sa.Text),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("options", sa.Text, nullable=False),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("ended", sa.Double),
    sa.Column("cancelled", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("owner", "idempotency_key"),
)
DOCUMENTS = sa.Table(
    "documents",
    METADATA,
    # A number is never used twice.
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), sa.Identity(always=True), primary_key=True),
    _of_job(),
    sa.Column("doc_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default="waiting"),
    sa.Column("pages", sa.Integer),
    sa.Column("starts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("ended", sa.Integer),
    sa.Column("address", sa.Text),
    sa.Column("content", sa.Text),
    sa.Column("result", sa.Text),
    sa.Column("data", sa.LargeBinary),
    sa.UniqueConstraint("job", "doc_id"),
    sa.UniqueConstraint("job", "ended"),
    sa.Index("progress", "job", "state", "pages"),
    sa.Index("contents_of_documents", "job", "content", "state", "number"),
    sqlite_autoincrement=True,
    postgresql_with=_EAGER,
)
sa.Index("waiting", DOCUMENTS.c.state, DOCUMENTS.c.pages.is_(None), DOCUMENTS.c.number)
FILES = sa.Table(
    "files",
    METADATA,
    _of_job(primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("doc_id", sa.Text, nullable=False),
    sa.Index("contents", "job", "doc_id", "position"),
    postgresql_with=_EAGER,
)
PAGES = sa.Table(
    "pages",
    METADATA,
    _of_job(primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("page", sa.Integer, nullable=False),
    sa.Column("model_version", sa.Text, nullable=False),
    sa.Column("shown", sa.Text),
    sa.Column("outcome", sa.Text),
    sa.UniqueConstraint("job", "content", "page"),
    postgresql_with=_EAGER,
)
WEBHOOKS = sa.Table(
    "webhooks",
    METADATA,
    _of_job(primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False, server_default="waiting"),
    sa.Column("due", sa.Double),
    sa.Index("due_webhooks", "state", "due"),
)
DELIVERIES = sa.Table(
    "deliveries",
    METADATA,
    _of_job(primary_key=True),
    sa.Column("attempt", sa.Integer, primary_key=True),
    sa.Column("sent", sa.Double, nullable=False),
    sa.Column("milliseconds", sa.Double, nullable=False),
    sa.Column("status", sa.Integer),
    sa.Column("error", sa.Text),
)
WEBHOOK_SECRETS = sa.Table(
    "webhook_secrets",
    METADATA,
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("secret", sa.Text, nullable=False),
)

DOCUMENT_FILES = (FILES.c.job == DOCUMENTS.c.job) & (FILES.c.doc_id == DOCUMENTS.c.doc_id)
"""Files with the same content are one document."""


def _from_version_1(connection: sa.Connection) -> None:
    """A file of version 1 has no objects of buckets: the name of each document is the hash of its content."""
    executed("""
        ALTER TABLE documents ADD COLUMN address TEXT;
        ALTER TABLE documents ADD COLUMN content TEXT;
        UPDATE documents SET content = doc_id;
        CREATE INDEX contents_of_documents ON documents (job, content, state, number)
    """)(connection)
    METADATA.create_all(connection, [PAGES, WEBHOOKS, DELIVERIES, WEBHOOK_SECRETS], checkfirst=False)


LEDGER_FILE = FileKind(
    name="job ledger",
    application_id=0x6C726A62,  # "lrjb"
    version=VERSION,
    # An accepted job survives a loss of power. What is deleted is overwritten, and its space is given back.
    settings=("auto_vacuum = FULL", "synchronous = FULL", "secure_delete = ON"),
    create=partial(METADATA.create_all, checkfirst=False),
    migrations={1: _from_version_1},
)
