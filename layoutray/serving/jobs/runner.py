"""Process the documents of jobs until the ledger has none that waits."""

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from layoutray.errors import ApiError, DocumentError, Reason
from layoutray.serving import failures
from layoutray.serving.access.audit import AuditRecord
from layoutray.serving.access.auth import Access
from layoutray.serving.answer import answer_of_page
from layoutray.serving.answerer import DEFAULT, Answerer, named
from layoutray.serving.failures import within
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.ledger_loop import LedgerLoop
from layoutray.serving.jobs.page_ledger import PageLedger
from layoutray.serving.jobs.records import WaitingDocument
from layoutray.serving.limits import Limits
from layoutray.serving.model import ModelDescription
from layoutray.serving.outcome import KnownPages, Outcome
from layoutray.serving.schema import ExtractResponse, SummarizeResponse
from layoutray.serving.submission import UploadedFile
from layoutray.store import sources

MOST_STARTS = 8
"""Starts of one document. One that ends each of them, for example by killing its process, must not go on for ever."""

_PATH = "/v1/jobs"
_SWEEP_SECONDS = 60.0
_WAIT_SECONDS = 2.0
"""Before a document is tried again, times the number of its starts."""


class JobRunner:
    """Processes documents that wait in the ledger. Opens documents before it answers any: pages left are soon known.

    Args:
        at_once: gives the number of documents that may be in progress.
        limits: `timeout_s` is that of one page here, as no client waits; `keep_jobs_s` says when an ended job is
            deleted.
    """

    def __init__(
        self, ledger: Ledger, service: Answerer, access: Access, limits: Limits, *, at_once: Callable[[], int]
    ) -> None:
        self._ledger = ledger
        self._pages = PageLedger(ledger.database)
        self._service = service
        self._guard = access.guard
        self._audit = access.audit
        self._limits = limits
        self._swept = 0.0
        self._loop = LedgerLoop(at_once, self._next, self._process, lambda document: document.number, _WAIT_SECONDS)

    def require_model(self, name: str) -> None:
        """Raise ApiError (404) when there is no model of this name."""
        named(self._service.models(), name)

    def hint(self) -> None:
        """Say that the ledger has something new. Without it, the runner finds that itself, a second later."""
        self._loop.hint()

    async def run(self) -> None:
        """Process documents until cancelled."""
        await self._loop.run()

    async def _next(self, started: Collection[Any]) -> WaitingDocument | None:
        if not await asyncio.to_thread(self._ledger.database.claim):
            return None
        if time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            await asyncio.to_thread(self._ledger.delete_ended, self._limits.keep_jobs_s)
        return await asyncio.to_thread(self._ledger.next, started)

    async def _process(self, document: WaitingDocument) -> None:
        await asyncio.to_thread(self._ledger.start, document)
        with suppress(ApiError), self._audit.record(document.owner, _PATH) as record:
            record.document, record.pages = document.content, document.pages or 0
            try:
                record.outcome = await self._step(document, record)
            except ApiError as failure:
                await self._fail(document, failure)
                raise

    async def _step(self, document: WaitingDocument, record: AuditRecord) -> str:
        """Open or answer a document. Returns the outcome. Raises ApiError when that failed."""
        if document.starts >= MOST_STARTS:
            message = f"its processing was started {document.starts} times and did not end"
            raise ApiError(500, Reason.INTERNAL, message, retryable=True)
        async with within(self._limits.timeout_s * (document.pages or 1)):
            file = await asyncio.to_thread(read_document, document, self._limits.max_upload_bytes)
            record.document = file.doc_id
            if document.pages is None:
                record.pages = await self._service.count_pages(file)
                caller = await self._guard.holder(document.owner)
                await caller.take_pages(record.pages)
                await asyncio.to_thread(self._ledger.opened, document, record.pages, file.doc_id)
                return "opened"
            model = await self._service.model(document.options.get("model", DEFAULT))
            record.model, record.model_version = model.model_id, model.model_version
            file = replace(file, known=_KnownPages(self._pages, document, model))
            answered = await self._service.answer(file, model)
            answer = answered.with_words() if document.options["words"] else answered.response
        if _may_be_better(answer) and _has_starts_left(document):
            return await self._later(document)
        result = {"answer": answer.model_dump(mode="json", exclude_none=True)}
        stored = await asyncio.to_thread(self._ledger.finish, document, "answered", result)
        return answer.status if stored else "not_wanted"

    async def _fail(self, document: WaitingDocument, failure: ApiError) -> None:
        """Store a failure, unless it may be one of this moment."""
        if failure.status >= 500 and failure.retryable and _has_starts_left(document):
            await self._later(document)
        else:
            await asyncio.to_thread(self._ledger.finish, document, "failed", failure.body())

    async def _later(self, document: WaitingDocument) -> str:
        """Leave a document waiting in the ledger. Its slot stays taken for a while, as others would fail too."""
        await asyncio.sleep(_WAIT_SECONDS * (document.starts + 1))
        return "tried_again"


def read_document(document: WaitingDocument, most: int) -> UploadedFile:
    """The file of a document; an object is read from its bucket.

    Args:
        most: bytes that an object may have.

    Raises:
        ApiError: that of the object: it is not there, is too large, cannot be read, or has changed since it was opened.
    """
    if not document.address:
        return UploadedFile(document.content, document.name, document.data)
    try:
        data = sources.read_bytes(document.address, most)
        content = sources.content_id(data)
        if document.content not in ("", content):
            message = f"{document.address} has changed since it was opened; send it again"
            raise DocumentError(Reason.CHANGED, message, stage="open")
    except DocumentError as error:
        raise failures.error_of(error) from error
    return UploadedFile(content, document.address, data)


class _KnownPages(KnownPages):
    """The pages of a document that a version of the model has answered before."""

    def __init__(self, pages: PageLedger, document: WaitingDocument, model: ModelDescription) -> None:
        self._pages = pages
        self._document = document
        self._model = model

    async def get(self, number: int) -> Outcome | None:
        return await asyncio.to_thread(self._pages.get, self._document, number, self._model.model_version)

    async def put(self, number: int, outcome: Outcome) -> None:
        if not (outcome.problem and outcome.problem.retryable):
            shown = answer_of_page(number, self._model, outcome)
            await asyncio.to_thread(self._pages.put, self._document, number, self._model.model_version, outcome, shown)


def _may_be_better(answer: ExtractResponse | SummarizeResponse) -> bool:
    """Whether a page failed for a reason that may pass, for example because its reader was killed."""
    return any(problem.retryable for problem in answer.errors)


def _has_starts_left(document: WaitingDocument) -> bool:
    return document.starts + 1 < MOST_STARTS
