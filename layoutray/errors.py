"""All errors that layoutray raises."""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Self


class LayoutrayError(Exception):
    """Base class of all errors."""


class InputError(LayoutrayError, ValueError):
    """Invalid input; the message says what is wrong, the value, what is allowed and what to do."""


class RecipeError(InputError):
    """A recipe key or value is invalid."""


class SchemaError(InputError):
    """A data set does not have the columns, types or version that its reader needs."""


class CheckpointError(InputError):
    """A checkpoint folder is incomplete, or does not fit the model it is loaded into."""


class TrackingError(InputError):
    """MLflow refuses a call, or its server does not answer.

    Attributes:
        code: MLflow's code of the error, such as RESOURCE_DOES_NOT_EXIST; empty if MLflow was not asked.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class TrainingError(LayoutrayError):
    """Training cannot go on; the message says at which step, why, and what to change."""


class MissingDependencyError(LayoutrayError):
    """A program or package is missing; the message says how to install it."""

    @classmethod
    def of_extra(cls, what: str, extra: str, cause: ImportError) -> Self:
        """The error for `what` if a package of an optional dependency group ("extra") of layoutray is not installed."""
        return cls(f"{what} needs the extra {extra} ({cause}); install: pip install 'layoutray[{extra}]'")


class ClusterError(LayoutrayError):
    """Ray cannot be started or joined; the message has Ray's own message and what to try."""


class Reason(StrEnum):
    """Why a document or page cannot be used: the `reason` column of dead letters."""

    EMPTY_FILE = "empty_file"
    UNREADABLE = "unreadable"
    UNREACHABLE = "unreachable"
    UNSUPPORTED_TYPE = "unsupported_type"
    ENCRYPTED = "encrypted"
    TOO_LARGE = "too_large"
    NOT_FOUND = "not_found"
    CHANGED = "changed"
    BAD_ANNOTATION = "bad_annotation"
    BAD_BOX = "bad_box"
    NOT_ANNOTATED = "not_annotated"
    VALUE_NOT_FOUND = "value_not_found"
    CONTRADICTORY = "contradictory"
    CUT = "cut"
    TEXT_CUT = "text_cut"
    TIMEOUT = "timeout"
    WORKER_CRASH = "worker_crash"
    OUT_OF_MEMORY = "out_of_memory"
    ENGINE_ERROR = "engine_error"
    INTERNAL = "internal"


RETRYABLE = frozenset({Reason.UNREACHABLE, Reason.TIMEOUT, Reason.WORKER_CRASH, Reason.OUT_OF_MEMORY, Reason.INTERNAL})
"""Reasons for which a later retry may succeed; the other reasons are properties of the file."""


class DocumentError(InputError):
    """A file or page cannot be used.

    Attributes:
        reason: code for counting and filtering.
        stage: where it failed: open, render, ocr, annotation, encode.
    """

    def __init__(self, reason: Reason, message: str, *, stage: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.stage = stage

    def __reduce__(self) -> tuple[object, ...]:
        # Needed for pickling between Ray workers, because of the keyword-only argument.
        return partial(DocumentError, self.reason, str(self), stage=self.stage), ()

    @property
    def retryable(self) -> bool:
        return self.reason in RETRYABLE


def as_document_error(error: Exception, stage: str) -> DocumentError:
    """The error as that of one document or page. One that concerns all of them (program, setting) is raised again."""
    if isinstance(error, DocumentError):
        return error
    if isinstance(error, LayoutrayError):
        raise error
    failure = DocumentError(Reason.INTERNAL, f"{type(error).__name__}: {error}", stage=stage)
    return failure.with_traceback(error.__traceback__)


class ApiError(LayoutrayError):
    """Ends a request with an error response.

    Args:
        code: error code in the body.
        message: what was wrong, the value, what is allowed.
        retryable: whether the same request may succeed later.
    """

    def __init__(
        self, status: int, code: str, message: str, *, retryable: bool = False, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retryable = retryable
        self.headers = dict(headers or {})
        if status == 503 and retryable:
            self.headers |= {"Retry-After": _RETRY_AFTER_SECONDS}

    def __reduce__(self) -> Any:
        given = {"retryable": self.retryable, "headers": self.headers}
        return partial(ApiError, self.status, self.code, str(self), **given), ()

    def body(self) -> dict[str, Any]:
        """The body of the response, for JSON."""
        return {"error": {"code": self.code, "message": str(self), "retryable": self.retryable}}


_RETRY_AFTER_SECONDS = "2"
