"""Process the documents of jobs until the ledger has none that waits."""

import asyncio
import logging
import sqlite3
import time
from contextlib import suppress

from layoutray.cluster.serving.audit import AuditRecord
from layoutray.cluster.serving.auth import Access
from layoutray.cluster.serving.failures import ApiError, within
from layoutray.cluster.serving.ledger import Ledger, WaitingDocument
from layoutray.cluster.serving.limits import Limits
from layoutray.cluster.serving.model_version import ModelDescription
from layoutray.cluster.serving.schema import ExtractResponse, SummarizeResponse
from layoutray.cluster.serving.service import Service
from layoutray.cluster.serving.submission import UploadedFile
from layoutray.errors import Reason

MOST_STARTS = 8
"""Starts of one document. One that ends each of them, for example by killing its process, must not go on for ever."""

_PATH = "/v1/jobs"
_LOOK_SECONDS = 1.0
"""How often the ledger is looked at when nobody has said that there is something new."""
_SWEEP_SECONDS = 60.0
_WAIT_SECONDS = 2.0
"""Before a document is tried again, times the number of its starts."""

_log = logging.getLogger(__name__)


class JobRunner:
    """Processes documents that wait in the ledger. Opens documents before it answers any: pages left are soon known.

    Args:
        at_once: documents in progress.
        limits: `timeout_s` is that of one page here, as no client waits; `keep_jobs_s` says when an ended job is
            deleted.
    """

    def __init__(self, ledger: Ledger, service: Service, access: Access, limits: Limits, *, at_once: int) -> None:
        self._ledger = ledger
        self._service = service
        self._guard = access.guard
        self._audit = access.audit
        self._page_seconds = limits.timeout_s
        self._keep_seconds = limits.keep_jobs_s
        self._slots = asyncio.Semaphore(at_once)
        self._started: dict[int, asyncio.Task[None]] = {}
        self._hint = asyncio.Event()
        self._swept = 0.0

    def hint(self) -> None:
        """Say that the ledger has something new. Without it, the runner finds that itself, a second later."""
        self._hint.set()

    async def run(self) -> None:
        """Process documents until cancelled."""
        try:
            while True:
                await self._slots.acquire()
                try:
                    document = await self._next()
                except sqlite3.Error as error:
                    _log.error("the job ledger cannot be read: %s", error)
                    document = None
                if document is None:
                    self._slots.release()
                    await self._wait()
                else:
                    self._started[document.number] = asyncio.create_task(self._process(document))
        finally:
            for task in self._started.values():
                task.cancel()

    async def _next(self) -> WaitingDocument | None:
        if time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            await asyncio.to_thread(self._ledger.delete_ended_before, time.time() - self._keep_seconds)
        return await asyncio.to_thread(self._ledger.next, frozenset(self._started))

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hint.wait(), _LOOK_SECONDS)
        self._hint.clear()

    async def _process(self, document: WaitingDocument) -> None:
        try:
            await asyncio.to_thread(self._ledger.start, document)
            with suppress(ApiError), self._audit.record(document.owner, _PATH) as record:
                record.document, record.pages = document.doc_id, document.pages or 0
                try:
                    record.outcome = await self._step(document, record)
                except ApiError as failure:
                    await self._fail(document, failure)
                    raise
        except sqlite3.Error as error:
            _log.error("the job ledger cannot be written: %s", error)
            await asyncio.sleep(_WAIT_SECONDS)
        finally:
            del self._started[document.number]
            self._slots.release()
            self.hint()

    async def _step(self, document: WaitingDocument, record: AuditRecord) -> str:
        """Open or answer a document. Returns the outcome. Raises ApiError when that failed."""
        if document.starts >= MOST_STARTS:
            message = f"its processing was started {document.starts} times and did not end"
            raise ApiError(500, Reason.INTERNAL, message, retryable=True)
        file = UploadedFile(document.doc_id, document.name, document.data)
        async with within(self._page_seconds * (document.pages or 1)):
            if document.pages is None:
                record.pages = await self._service.count_pages(file)
                caller = await self._guard.holder(document.owner)
                await caller.take_pages(record.pages)
                await asyncio.to_thread(self._ledger.opened, document, record.pages)
                return "opened"
            model = await self._service.model()
            record.model_version = model.model_version
            answer = await self._ask(file, model, document)
        if _may_be_better(answer) and _has_starts_left(document):
            return await self._later(document)
        result = {"answer": answer.model_dump(mode="json", exclude_none=True)}
        stored = await asyncio.to_thread(self._ledger.finish, document, "answered", result)
        return answer.status if stored else "not_wanted"

    async def _ask(
        self, file: UploadedFile, model: ModelDescription, document: WaitingDocument
    ) -> ExtractResponse | SummarizeResponse:
        if model.path == "/v1/summarize":
            return await self._service.summarize(file, model, _admitted, explain=False)
        answer = await self._service.extract(file, model, _admitted)
        return answer if document.options["words"] else answer.without_words()

    async def _fail(self, document: WaitingDocument, failure: ApiError) -> None:
        """Store a failure, unless it may be one of this moment."""
        if failure.status >= 500 and failure.retryable and _has_starts_left(document):
            await self._later(document)
        else:
            await asyncio.to_thread(self._ledger.finish, document, "failed", {"error": failure.detail().model_dump()})

    async def _later(self, document: WaitingDocument) -> str:
        """Leave a document waiting in the ledger. Its slot stays taken for a while, as others would fail too."""
        await asyncio.sleep(_WAIT_SECONDS * (document.starts + 1))
        return "tried_again"


async def _admitted(_: int) -> None:
    """The pages of a job are counted when it is opened."""


def _may_be_better(answer: ExtractResponse | SummarizeResponse) -> bool:
    """Whether a page failed for a reason that may pass, for example because its reader was killed."""
    return any(problem.retryable for problem in answer.errors)


def _has_starts_left(document: WaitingDocument) -> bool:
    return document.starts + 1 < MOST_STARTS
