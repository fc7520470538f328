"""The record of a document or page that failed."""

import traceback
from dataclasses import dataclass
from typing import Self

from layoutray.errors import DocumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One document or page that failed, with everything that is needed to find, understand and retry it.

    Attributes:
        page_id: empty if the document could not be opened.
        doc_id: empty if the document's bytes could not be read.
        page: number of the page, from 1; None if the letter is about the whole document.
        attempts: number of attempts in the run that failed.
        trace: traceback of the last attempt.
    """

    page_id: str
    doc_id: str
    source: str
    page: int | None
    stage: str
    reason: str
    message: str
    attempts: int
    retryable: bool
    trace: str

    @classmethod
    def of(
        cls,
        error: DocumentError,
        source: str,
        *,
        doc_id: str = "",
        page_id: str = "",
        page: int | None = None,
        attempts: int = 1,
    ) -> Self:
        return cls(
            page_id=page_id,
            doc_id=doc_id,
            source=source,
            page=page,
            stage=error.stage,
            reason=error.reason.value,
            message=str(error),
            attempts=attempts,
            retryable=error.retryable,
            trace="".join(traceback.format_exception(error)),
        )
