"""What is kept of a document or page that could not be used."""

import traceback
from dataclasses import dataclass
from typing import Self

from layoutray.errors import DocumentError


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One document or page that failed, with enough to find it, judge it and try it again.

    Attributes:
        page_id: empty when the document could not even be opened.
        doc_id: empty when its bytes could not be read.
        page: counted from 1; None when the letter is of the whole document.
        attempts: how often it was tried in the run that gave it up.
        trace: the traceback of the last attempt.
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
        """The dead letter that `error` leaves behind."""
        trace = "".join(traceback.format_exception(error))
        return cls(
            page_id, doc_id, source, page, error.stage, error.reason.value, str(error), attempts, error.retryable, trace
        )
