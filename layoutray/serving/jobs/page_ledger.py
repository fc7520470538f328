"""The pages of documents of jobs, kept as soon as they are answered.

After a kill, pages that were answered are not answered again. The key of a page is the job, the content of its
document, its number and the version of the model. All documents of a job have the same options.

What is shown of a page stays with the job. Its words are forgotten when no document with this content waits any more.
"""

import json
from collections.abc import Generator, Mapping
from typing import Any

from pydantic import TypeAdapter

from layoutray.serving.jobs.ledger_database import LedgerDatabase
from layoutray.serving.jobs.records import WaitingDocument
from layoutray.serving.outcome import Outcome

_OUTCOME = TypeAdapter(Outcome)


class PageLedger:
    """The pages in the database of a ledger."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    def get(self, document: WaitingDocument, page: int, model_version: str) -> Outcome | None:
        """The outcome of a page of a document that waits; None if this version of the model has not answered it."""
        rows = self._database.rows(_OUTCOME_OF, document.job, document.content, page, model_version)
        return _OUTCOME.validate_json(rows[0]["outcome"]) if rows else None

    def put(
        self,
        document: WaitingDocument,
        page: int,
        model_version: str,
        outcome: Outcome,
        shown: Mapping[str, Any] | None,
    ) -> None:
        """Keep a page, unless its document no longer waits. It replaces that of another version of the model.

        Args:
            shown: its line in the results; None if it has none.
        """
        text = None if shown is None else json.dumps(shown)
        kept = (document.job, document.job, document.content, page, model_version, text)
        with self._database.transaction() as database:
            database.execute(_KEEP, (*kept, _OUTCOME.dump_json(outcome).decode(), document.number))

    def results(self, job: str, after: int, limit: int) -> Generator[Mapping[str, Any]]:
        """What is shown of each page, in the order in which they were answered, once for each file; read one at a time.

        Args:
            after: `number` of the last page that is not wanted; 0 for all.
            limit: most pages.
        """
        for found in self._database.rows(_NUMBERS, job, after, limit):
            for row in self._database.rows(_SHOWN, job, found["number"]):
                about = {
                    "number": found["number"],
                    "position": row["position"],
                    "file": row["name"],
                    "doc_id": row["content"],
                }
                yield about | {"model_version": row["model_version"]} | json.loads(row["shown"])


_OUTCOME_OF = """
    SELECT outcome FROM pages
    WHERE job = ? AND content = ? AND page = ? AND model_version = ? AND outcome IS NOT NULL
"""
_KEEP = """
    INSERT INTO pages (job, number, content, page, model_version, shown, outcome)
    SELECT ?, (SELECT coalesce(max(number), 0) + 1 FROM pages WHERE job = ?), ?, ?, ?, ?, ?
    FROM documents WHERE number = ? AND state = 'waiting'
    ON CONFLICT (job, content, page) DO UPDATE SET number = excluded.number, model_version = excluded.model_version,
        shown = excluded.shown, outcome = excluded.outcome
"""
_NUMBERS = "SELECT number FROM pages WHERE job = ? AND number > ? AND shown IS NOT NULL ORDER BY number LIMIT ?"
_SHOWN = """
    SELECT position, name, documents.content, model_version, shown FROM pages
    JOIN documents ON documents.job = pages.job AND documents.content = pages.content
    JOIN files ON files.job = documents.job AND files.doc_id = documents.doc_id
    WHERE pages.job = ? AND pages.number = ? ORDER BY position
"""
