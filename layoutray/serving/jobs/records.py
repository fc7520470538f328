"""Jobs and their documents as plain values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

JobState = Literal["running", "done", "cancelled"]
DocumentState = Literal["waiting", "answered", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class JobFile:
    """A file of a new job.

    Attributes:
        doc_id: SHA-256 of the content; of an object of a bucket, its address.
        read: gives the content. It is called when the file is stored, and only then. None for an object of a bucket.
    """

    name: str
    doc_id: str
    read: Callable[[], bytes] | None


@dataclass(frozen=True, slots=True)
class Submission:
    """What makes a job.

    Attributes:
        options: how its documents are answered.
        fingerprint: equal for equal files, options and webhooks.
        idempotency_key: a second submission of the owner with the same key gives the first one's job.
        webhook: URL and host that are told of the end of the job; None: nobody is.
    """

    owner: str
    options: Mapping[str, Any]
    fingerprint: str
    idempotency_key: str | None = None
    webhook: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class WaitingDocument:
    """A document that waits to be opened (`pages` is None) or answered.

    Attributes:
        number: of the document in the ledger.
        content: SHA-256 of the content; empty for an object that was not read yet.
        address: of an object; empty for an uploaded file.
        data: content of an uploaded file; empty for an object.
        starts: how many times its processing has begun and not ended.
        options: of its job.
    """

    number: int
    job: str
    owner: str
    content: str
    address: str
    name: str
    data: bytes
    pages: int | None
    starts: int
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What is done of a job.

    Attributes:
        documents: number of different documents in each state.
        pages_done: pages of documents that are answered or failed, and pages that are answered of documents that wait.
        pages_left: the other pages of opened documents that wait.
        unopened: waiting documents whose number of pages is not known yet.
        model: name of the model that answers; None for the default one.
    """

    id: str
    state: JobState
    files: int
    documents: Mapping[DocumentState, int]
    pages_done: int
    pages_left: int
    unopened: int
    created: float
    ended: float | None
    model: str | None
