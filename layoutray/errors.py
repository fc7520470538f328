"""Every error that layoutray raises on purpose.

LayoutrayError
├── InputError (ValueError)      something handed in is wrong; the message says what is allowed
│   ├── RecipeError              a recipe key or value
│   ├── DocumentError            a file or page; carries a reason code, ends as a dead letter or a 422
│   ├── SchemaError              a dataset that is not what its schema says
│   └── CheckpointError          a checkpoint folder that is incomplete or does not fit
├── MissingDependencyError       a program or package that has to be installed first
└── ClusterError                 Ray could not be started or joined
"""

from enum import StrEnum


class LayoutrayError(Exception):
    """Root of the tree."""


class InputError(LayoutrayError, ValueError):
    """Something handed in is wrong; the message says what, the value, what is allowed and what to do."""


class RecipeError(InputError):
    """A recipe key or value is wrong."""


class SchemaError(InputError):
    """A dataset does not have the columns, types or version that its reader needs."""


class CheckpointError(InputError):
    """A checkpoint folder is incomplete, or does not fit the model it is loaded into."""


class MissingDependencyError(LayoutrayError):
    """A program or package is missing; the message says how to install it."""


class ClusterError(LayoutrayError):
    """Ray could not be started or joined; the message has what Ray says of it, and what to try."""


class Reason(StrEnum):
    """Why a document or page could not be used: the `reason` column of the dead letters."""

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
    CUT = "cut"
    TEXT_CUT = "text_cut"
    TIMEOUT = "timeout"
    WORKER_CRASH = "worker_crash"
    OUT_OF_MEMORY = "out_of_memory"
    ENGINE_ERROR = "engine_error"
    INTERNAL = "internal"


RETRYABLE = frozenset({Reason.UNREACHABLE, Reason.TIMEOUT, Reason.WORKER_CRASH, Reason.OUT_OF_MEMORY, Reason.INTERNAL})
"""Reasons that a second try a little later may cure; all others come from the bytes themselves."""


class DocumentError(InputError):
    """A file or page cannot be used.

    Attributes:
        reason: code for counting and filtering.
        stage: where it happened: open, render, ocr, annotation, encode.
    """

    def __init__(self, reason: Reason, message: str, *, stage: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.stage = stage

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not survive pickling between Ray workers otherwise.
        return _rebuild, (self.reason, str(self), self.stage)

    @property
    def retryable(self) -> bool:
        return self.reason in RETRYABLE


def _rebuild(reason: Reason, message: str, stage: str) -> DocumentError:
    return DocumentError(reason, message, stage=stage)
