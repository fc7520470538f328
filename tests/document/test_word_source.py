"""Words of another source, engine, version or setting are told; limits and corrections by people are no difference."""

import json
from dataclasses import replace

import pytest

from layoutray.document import REVIEWED, Provenance
from layoutray.document.word_source import WordSource, other_words


def _read(**settings: object) -> Provenance:
    given = {"dpi": 200, "deadline": 120.0, "engine": "rapidocr", "rapidocr": {"detection": "small"}} | settings
    return Provenance(words="ocr", reason="", engine="rapidocr", version="3.1", settings=json.dumps(given))


_LEARNT = (WordSource.of(_read()), WordSource.of(_read(dpi=300)))


@pytest.mark.parametrize(
    "same",
    [_read(), _read(dpi=300), _read(deadline=1.0), _read(max_pages=1), replace(_read(), words=REVIEWED, reason="x")],
)
def test_words_that_were_read_alike_are_the_same(same: Provenance) -> None:
    assert other_words([WordSource.of(same)], _LEARNT) == ()


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (_read(rapidocr={"detection": "tiny"}), 'rapidocr.detection "tiny" instead of "small"'),
        (_read(dpi=72), "dpi 72 instead of 200"),
        (_read(lines=True), "lines true instead of null"),
        (replace(_read(), version="4"), "words of rapidocr 3.1, and these are of rapidocr 4"),
        (Provenance(words="text_layer", reason="", engine="rapidocr"), "these are of text layer"),
        (Provenance(words="annotation", reason=""), "these are of annotation"),
    ],
)
def test_other_words_are_told(other: Provenance, told: str) -> None:
    (warning,) = other_words([WordSource.of(other)], _LEARNT)
    assert told in warning.message
    assert not other_words([WordSource.of(other)], ())  # nothing says what the model has learnt from
