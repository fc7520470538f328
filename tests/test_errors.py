"""Errors cross process borders between Ray workers: they must arrive as what they were."""

import pickle

import pytest

from layoutray import errors
from layoutray.errors import RETRYABLE, ApiError, DocumentError, InputError, LayoutrayError, Reason

SIMPLE = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, LayoutrayError) and kind not in (DocumentError, ApiError)
]


@pytest.mark.parametrize("kind", SIMPLE, ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling(kind: type[LayoutrayError]) -> None:
    arrived = pickle.loads(pickle.dumps(kind("page 3 is upside down")))
    assert type(arrived) is kind
    assert str(arrived) == "page 3 is upside down"


@pytest.mark.parametrize("reason", list(Reason))
def test_a_document_error_keeps_reason_stage_and_retryable(reason: Reason) -> None:
    arrived = pickle.loads(pickle.dumps(DocumentError(reason, "cannot be opened", stage="open")))
    assert type(arrived) is DocumentError
    assert (arrived.reason, str(arrived), arrived.stage) == (reason, "cannot be opened", "open")
    assert arrived.retryable is (reason in RETRYABLE)


def test_an_api_error_keeps_its_response() -> None:
    arrived = pickle.loads(pickle.dumps(ApiError(503, "overloaded", "try later", retryable=True, headers={"A": "b"})))
    assert (arrived.status, arrived.retryable, arrived.headers) == (503, True, {"A": "b", "Retry-After": "2"})
    assert arrived.body() == {"error": {"code": "overloaded", "message": "try later", "retryable": True}}


def test_wrong_input_is_a_value_error_and_everything_is_a_layoutray_error() -> None:
    assert issubclass(InputError, ValueError)
    assert all(issubclass(kind, LayoutrayError) for kind in [*SIMPLE, DocumentError, ApiError])


def test_what_comes_from_the_bytes_is_never_retried() -> None:
    from_bytes = {
        Reason.EMPTY_FILE,
        Reason.UNREADABLE,
        Reason.UNSUPPORTED_TYPE,
        Reason.ENCRYPTED,
        Reason.TOO_LARGE,
        Reason.BAD_ANNOTATION,
    }
    assert not from_bytes & RETRYABLE
