"""What is sent as a job, and what is processed of it, as plain values."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layoutray.serving.jobs.schema import JobResponse


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What makes a job.

    Attributes:
        options: how its documents are answered.
        idempotency_key: a second submission of the owner with the same key gives the first one's job.
        files: of a job of a prefix, those that are found below it.
        prefix: address whose objects are the files; None for a job of files.
        webhook: URL that is told of the end of the job; None: nobody is.
    """

    owner: str
    options: Mapping[str, Any]
    idempotency_key: str | None = None
    files: Sequence[JobFile] = ()
    prefix: str | None = None
    webhook: str | None = None

    def fingerprint(self) -> str:
        """A hash that is equal for equal files, or an equal prefix, options and webhooks."""
        what: list[Any] = [[file.name, file.doc_id] for file in self.files] if self.prefix is None else []
        what += [{name: value} for name in ("prefix", "webhook") if (value := getattr(self, name)) is not None]
        return hashlib.sha256(json.dumps([*what, self.options]).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDocument:
    """A document that waits to be opened (`pages` is None) or answered.

    Attributes:
        content: SHA-256 of the content; empty for an object that was not read yet.
        address: of an object; empty for an uploaded file.
        data: content of an uploaded file; empty for an object.
        starts: how many times its processing has begun and not ended.
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
class Job:
    """A job as it is shown, and whose it is."""

    owner: str
    shown: JobResponse


class DifferentSubmissionError(Exception):
    """The owner has used this idempotency key for other files or options."""


class NoRoomError(Exception):
    """Too many documents of an owner wait.

    Attributes:
        waiting: documents of all jobs of the owner.
    """

    def __init__(self, waiting: int) -> None:
        super().__init__(waiting)
        self.waiting = waiting
