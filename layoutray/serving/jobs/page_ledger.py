"""The pages of documents of jobs, kept as soon as they are answered.

After a kill, pages that were answered are not answered again. The key of a page is the job, the content of its
document, its number and the version of the model. All documents of a job have the same options.

What is shown of a page stays with the job. Its words are forgotten when no document with this content waits any more.
"""

import asyncio
import json
from collections.abc import Generator, Mapping
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import delete, func, insert, select

from layoutray.serving.answer import answer_of_page
from layoutray.serving.jobs.records import WaitingDocument
from layoutray.serving.jobs.tables import DOCUMENT_FILES, DOCUMENTS, FILES, PAGES
from layoutray.serving.model import ModelDescription
from layoutray.serving.outcome import KnownPages, Outcome
from layoutray.store.database import Database

_OUTCOME = TypeAdapter(Outcome)


class PagesOfDocument(KnownPages):
    """The pages of a document that a version of the model has answered."""

    def __init__(self, database: Database, document: WaitingDocument, model: ModelDescription) -> None:
        self._database = database
        self._document = document
        self._model = model
        self._pages = (PAGES.c.job == document.job, PAGES.c.content == document.content)

    async def get(self, number: int) -> Outcome | None:
        of_version = (PAGES.c.model_version == self._model.model_version, PAGES.c.outcome.is_not(None))
        known = select(PAGES.c.outcome).where(*self._pages, PAGES.c.page == number, *of_version)
        rows = await asyncio.to_thread(self._database.rows, known)
        return _OUTCOME.validate_json(rows[0]["outcome"]) if rows else None

    async def put(self, number: int, outcome: Outcome) -> None:
        """Keep a page, unless its document no longer waits. It replaces that of another version of the model.

        A page that failed for a reason that may pass is not kept.
        """
        if not (outcome.problem and outcome.problem.retryable):
            await asyncio.to_thread(self._put, number, outcome)

    def _put(self, page: int, outcome: Outcome) -> None:
        waits = (DOCUMENTS.c.number == self._document.number, DOCUMENTS.c.state == "waiting")
        job, shown = self._document.job, answer_of_page(page, self._model, outcome)
        with self._database.transaction() as connection:
            if not connection.scalar(select(DOCUMENTS.c.number).where(*waits)):
                return
            last = connection.scalar(select(func.max(PAGES.c.number)).where(PAGES.c.job == job)) or 0
            connection.execute(delete(PAGES).where(*self._pages, PAGES.c.page == page))
            values = {
                "job": job,
                "number": last + 1,
                "content": self._document.content,
                "page": page,
                "model_version": self._model.model_version,
                "shown": None if shown is None else json.dumps(shown),
                "outcome": _OUTCOME.dump_json(outcome).decode(),
            }
            connection.execute(insert(PAGES).values(values))


def page_results(database: Database, job: str, after: int, limit: int) -> Generator[Mapping[str, Any]]:
    """What is shown of each page, in the order in which they were answered, once for each file; read one at a time.

    Args:
        after: `number` of the last page that is not wanted; 0 for all.
        limit: most pages.
    """
    same_pages = (DOCUMENTS.c.job == PAGES.c.job) & (DOCUMENTS.c.content == PAGES.c.content)
    lines = select(FILES.c.position, FILES.c.name, PAGES.c.content, PAGES.c.model_version, PAGES.c.shown)
    lines = lines.join_from(PAGES, DOCUMENTS, same_pages).join(FILES, DOCUMENT_FILES)
    numbers = select(PAGES.c.number).where(PAGES.c.job == job, PAGES.c.number > after, PAGES.c.shown.is_not(None))
    for found in database.rows(numbers.order_by(PAGES.c.number).limit(limit)):
        of_page = (PAGES.c.job == job, PAGES.c.number == found["number"])
        for row in database.rows(lines.where(*of_page).order_by(FILES.c.position)):
            about = {"number": found["number"], "position": row["position"], "file": row["name"]}
            about |= {"doc_id": row["content"], "model_version": row["model_version"]}
            yield about | json.loads(row["shown"])
