"""What is logged of an unexpected error."""

import logging

import pytest

from layoutray.serving.failures import log_failure


def quoting(text: str) -> None:
    try:
        int(text)
    except ValueError as error:
        raise RuntimeError(f"bad word {text}") from error


def test_an_error_is_logged_with_its_place_and_cause_and_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    word = "Flibbertigibbet"
    with pytest.raises(RuntimeError, match=word) as caught:
        quoting(word)
    log_failure(logging.getLogger("layoutray.test"), "the model failed", caught.value)
    assert "the model failed: RuntimeError" in caplog.text
    assert "caused by ValueError" in caplog.text
    assert "in quoting" in caplog.text
    assert word not in caplog.text
