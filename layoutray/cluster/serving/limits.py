"""How much the endpoint takes on."""

import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from layoutray.cluster.serving.failures import ApiError
from layoutray.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Attributes:
    max_upload_bytes: larger files and bodies are refused (413) as soon as that much has come in.
    max_pages: longer documents are refused (413).
    timeout_s: a document that takes longer, upload and waiting included, is given up (504).
    max_queued_requests: documents that may wait while every OCR replica has one; more are turned away (503) unread.
    """

    max_upload_bytes: int = 20 * 2**20
    max_pages: int = 50
    timeout_s: float = 60.0
    max_queued_requests: int = 32

    def __post_init__(self) -> None:
        for name in ("max_upload_bytes", "max_pages", "timeout_s"):
            value = getattr(self, name)
            if not (0 < value < math.inf):
                raise InputError(f"{name} is {value}; it must be above 0")
        if self.max_queued_requests < 0:
            raise InputError(f"max_queued_requests is {self.max_queued_requests}; it must be 0 or more")


class Admission:
    """Counts the documents in work. The one bound of all queues behind it, and of the memory that uploads take."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside = 0

    @contextmanager
    def enter(self) -> Generator[None]:
        """Be in work during the block. Raises ApiError (503) when the house is full."""
        if self._inside >= self._most:
            raise ApiError(
                503, "overloaded", f"{self._inside} documents are in work, allowed are {self._most}", retryable=True
            )
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1
