"""Ledgers as layoutray made them before it used SQLAlchemy: a job of an answered document and one that waits."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.postgresql import Server

JOB = "theoldjob"
_FINGERPRINT = hashlib.sha256(json.dumps([["a", "first"], ["b", "second"], {"words": False}]).encode()).hexdigest()
_ROWS = """
    INSERT INTO jobs VALUES ('theoldjob', 'acme', 'order 1', '{fingerprint}', '{{"words": false}}', 7, NULL, 0);
    INSERT INTO files VALUES ('theoldjob', 0, 'a', 'first'), ('theoldjob', 1, 'b', 'second');
    INSERT INTO documents (job, doc_id, state, pages, ended, result)
        VALUES ('theoldjob', 'first', 'answered', 2, 1, '{{"answer": 1}}');
    INSERT INTO documents (job, doc_id, state, pages, data)
        VALUES ('theoldjob', 'second', 'waiting', 2, {content})
"""
_ROWS_OF_VERSION_2 = """
    UPDATE documents SET content = doc_id;
    INSERT INTO pages VALUES ('theoldjob', 1, 'second', 1, 'v1', '{"line": 1}', '{"page": null, "ocr": 1.5}');
    INSERT INTO webhooks (job, url, host) VALUES ('theoldjob', 'https://hooks.example.com/', 'hooks.example.com');
    INSERT INTO deliveries VALUES ('theoldjob', 1, 8.5, 20.5, 503, 'the receiver answered with status 503');
    INSERT INTO webhook_secrets VALUES ('acme', 'whsec_old')
"""


def make_file(file: Path, version: int) -> None:
    """Write a ledger of version 1 or 2 to `file`."""
    connection = sqlite3.connect(file)
    rows = _ROWS.format(fingerprint=_FINGERPRINT, content="CAST('content' AS BLOB)")
    statements = f"{VERSION_1}; {rows}"
    if version == 2:
        tables = VERSION_2.format(number="INTEGER PRIMARY KEY AUTOINCREMENT", content="BLOB")
        statements = f"{tables}; {rows}; {_ROWS_OF_VERSION_2}"
    settings = "PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL; PRAGMA application_id = 1819437666"
    connection.executescript(f"{settings}; {statements}; PRAGMA user_version = {version}")
    connection.close()


def make_on_server(server: "Server", address: str) -> None:
    """Write a ledger of version 2 to the schema at `address`."""
    tables = VERSION_2.format(number="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", content="BYTEA")
    mark = "CREATE TABLE layoutray_job_ledger AS SELECT 2 AS version"
    rows = _ROWS.format(fingerprint=_FINGERPRINT, content="'content'")
    for statement in f"{tables}; {mark}; {rows}; {_ROWS_OF_VERSION_2}".split(";"):
        server.execute(statement, address)


VERSION_1 = """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        idempotency_key TEXT,
        fingerprint TEXT NOT NULL,
        options TEXT NOT NULL,
        created REAL NOT NULL,
        ended REAL,
        cancelled INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, idempotency_key)
    );
    CREATE TABLE documents (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        doc_id TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'waiting',
        pages INTEGER,
        starts INTEGER NOT NULL DEFAULT 0,
        ended INTEGER,
        result TEXT,
        data BLOB,
        UNIQUE (job, doc_id),
        UNIQUE (job, ended)
    );
    CREATE INDEX waiting ON documents (state, pages IS NULL, number);
    CREATE INDEX progress ON documents (job, state, pages);
    CREATE TABLE files (
        job TEXT NOT NULL REFERENCES jobs ON DELETE CASCADE,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        doc_id TEXT NOT NULL,
        PRIMARY KEY (job, position)
    );
    CREATE INDEX contents ON files (job, doc_id, position)
"""
VERSION_2 = """
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
