"""A share of the documents that the endpoint answers is put into the review file, so that people are asked about it."""

import asyncio
import hashlib
import logging
from dataclasses import asdict

from starlette.background import BackgroundTask

from layoutray.review.documents import AnsweredDocument
from layoutray.review.store import ReviewStore
from layoutray.review.values import packet_values, predicted_values
from layoutray.serving.access.auth import Caller
from layoutray.serving.answer import DocumentAnswer
from layoutray.serving.submission import UploadedFile
from layoutray.serving.telemetry import Telemetry
from layoutray.store.database import DatabaseError

MOST_WAITING = 16
"""Documents in memory that wait for the review file; further ones are left out, and counted."""
_log = logging.getLogger(__name__)


class ReviewShare:
    """Draws documents by a hash of their content, so that the draw depends on neither their answers nor the time.

    Args:
        share: of the documents, 0 to 1.
    """

    def __init__(self, store: ReviewStore, share: float, telemetry: Telemetry) -> None:
        self._store = store
        self._share = share
        self._telemetry = telemetry
        self._turn = asyncio.Lock()
        self._waiting = 0

    def task(self, answered: DocumentAnswer, caller: Caller) -> BackgroundTask | None:
        """The task that stores the document for review after its answer was sent; None if it is not drawn.

        Pages of words are never drawn: without a picture, nobody can see whether an answer is right.
        """
        file = answered.document
        if not isinstance(file, UploadedFile):
            return None
        # Another hash than the one that draws values of the document.
        drawn = int.from_bytes(hashlib.sha256(f"document {file.doc_id}".encode()).digest()[:8]) / 2**64
        return BackgroundTask(self._put, answered, file, caller.owner) if drawn < self._share else None

    async def _put(self, answered: DocumentAnswer, file: UploadedFile, owner: str) -> None:
        if self._waiting >= MOST_WAITING:
            self._telemetry.drawn_for_review("left_out")
            return
        self._waiting += 1
        try:
            async with self._turn:  # one thread at most waits for the file
                await asyncio.to_thread(lambda: self._store.add(for_review(answered, file), owner))
        except DatabaseError as error:
            _log.error("an answered document could not be put into the review file: %s", error)
            self._telemetry.drawn_for_review("failed")
        else:
            self._telemetry.drawn_for_review("stored")
        finally:
            self._waiting -= 1


def for_review(answered: DocumentAnswer, file: UploadedFile) -> AnsweredDocument:
    """The document `file` with its answer from `/v1/extract`, as it enters a review."""
    plain = answered.response.model_dump()
    found, packet = plain["document"], plain["packet"]
    said = (
        packet_values(packet["documents"])
        if packet
        else predicted_values(found["fields"], found["entities"], found["records"], [*map(asdict, answered.candidates)])
    )
    return AnsweredDocument(
        doc_id=file.doc_id,
        source=file.source,
        model_id=plain["model_id"],
        model_version=plain["model_version"],
        pages=tuple(answered.pages),
        said=said,
        content=file.data,
    )
