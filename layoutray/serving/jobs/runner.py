"""Process the documents of jobs until the ledger has none that waits."""

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from layoutray.errors import ApiError, DocumentError, Reason
from layoutray.serving import failures
from layoutray.serving.access.audit import AuditRecord
from layoutray.serving.access.auth import Guard
from layoutray.serving.answerer import DEFAULT, Answerer, named
from layoutray.serving.failures import within
from layoutray.serving.fair import FairShares
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.jobs.ledger_loop import LedgerLoop
from layoutray.serving.jobs.page_ledger import PagesOfDocument
from layoutray.serving.jobs.records import WaitingDocument
from layoutray.serving.limits import Limits
from layoutray.serving.submission import UploadedFile
from layoutray.store import sources

MOST_STARTS = 8
"""Starts of one document. One that ends each of them, for example by killing its process, must not go on for ever."""

_PATH = "/v1/jobs"
_SWEEP_SECONDS = 60.0
_TYPICAL_SECONDS = 1.0
"""What a document counts in the share of its owner until its time is known."""
_WAIT_SECONDS = 2.0
"""Before a document is tried again, times the number of its starts."""


class JobRunner(LedgerLoop[WaitingDocument]):
    """Processes documents that wait in the ledger, in fair order over owners (see `fair`).

    Opens all documents of an owner first, so that page counts are known early.

    Args:
        at_once: gives the number of documents that may be in progress.
        limits: `timeout_s` is that of one page here, as no client waits; `keep_jobs_s` says when an ended job is
            deleted.
    """

    def __init__(
        self, ledger: Ledger, service: Answerer, guard: Guard, limits: Limits, *, at_once: Callable[[], int]
    ) -> None:
        super().__init__(ledger.database, at_once, _WAIT_SECONDS)
        self._ledger = ledger
        self._service = service
        self._guard = guard
        self._limits = limits
        self._swept = 0.0
        self._shares = FairShares()

    async def require_model(self, name: str, fields: str) -> None:
        """Raise ApiError (404) when there is no model of this name, and 422 when it does not answer these fields.

        Args:
            fields: as `ModelDescription.asking`; a model that needs names is not asked for without any.
        """
        named(self._service.models(), name)
        if fields:
            (await self._service.model(name)).asking(fields)

    def key(self, item: WaitingDocument) -> int:
        return item.number

    def take(self, started: Collection[Any]) -> WaitingDocument | None:
        if time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            self._ledger.delete_ended(self._limits.keep_jobs_s)
        for owner in self._shares.order(self._ledger.owners()):
            if found := self._ledger.next(started, owner):
                self._shares.begin(owner, _TYPICAL_SECONDS)
                return found
        return None

    async def process(self, item: WaitingDocument) -> None:
        began = time.monotonic()
        try:
            await asyncio.to_thread(self._ledger.start, item)
            with suppress(ApiError), self._guard.audit.record(item.owner, _PATH) as record:
                record.document, record.pages = item.content, item.pages or 0
                try:
                    record.outcome = await self._step(item, record)
                except ApiError as failure:
                    await self._fail(item, failure)
                    raise
        finally:
            self._shares.charge(item.owner, time.monotonic() - began - _TYPICAL_SECONDS)

    async def _step(self, document: WaitingDocument, record: AuditRecord) -> str:
        """Open or answer a document. Returns the outcome. Raises ApiError when that failed."""
        if document.starts >= MOST_STARTS:
            message = f"its processing was started {document.starts} times and did not end"
            raise ApiError(500, Reason.INTERNAL, message, retryable=True)
        async with within(self._limits.timeout_s * (document.pages or 1)):
            file = await asyncio.to_thread(read_document, document, self._limits.max_upload_bytes)
            record.document = file.doc_id
            if document.pages is None:
                record.pages = await self._service.count_pages(file, document.owner)
                await self._open(document, record.pages, file.doc_id)
                return "opened"
            model = (await self._service.model(document.options.get("model", DEFAULT))).asking(
                document.options.get("fields", "")
            )
            record.model, record.model_version = model.model_id, model.model_version
            file = replace(file, known=PagesOfDocument(self._ledger.database, document, model))
            answered = await self._service.answer(file, model, owner=document.owner)
            answer = answered.with_words() if document.options["words"] else answered.response
        # A page may have failed for a reason that passes, for example because its reader was killed.
        if any(problem.retryable for problem in answer.errors) and _has_starts_left(document):
            return await self._later(document)

        dumped = partial(answer.model_dump, mode="json", exclude_none=True)
        stored = await asyncio.to_thread(lambda: self._ledger.finish(document, "answered", {"answer": dumped()}))
        return answer.status if stored else "not_wanted"

    async def _open(self, document: WaitingDocument, pages: int, content: str) -> None:
        """Store the number of pages, then count them. After a kill between the two, they are not counted twice."""
        await asyncio.to_thread(self._ledger.opened, document, pages, content)
        try:
            caller = await self._guard.holder(document.owner)
            await caller.take_pages(pages)
        except ApiError:
            await asyncio.to_thread(self._ledger.closed, document)
            raise

    async def _fail(self, document: WaitingDocument, failure: ApiError) -> None:
        """Store a failure, unless it may be one of this moment. The client does not pay for one of the endpoint."""
        if failure.status >= 500 and failure.retryable and _has_starts_left(document):
            await self._later(document)
            return
        stored = await asyncio.to_thread(self._ledger.finish, document, "failed", failure.body())
        if stored and failure.status >= 500 and failure.status != 504:  # see `returned_on_failure`
            caller = await self._guard.holder(document.owner, document.pages or 0)
            await caller.return_pages()

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


def _has_starts_left(document: WaitingDocument) -> bool:
    return document.starts + 1 < MOST_STARTS
