"""Signals of documents: each document of a reference is compared with the others of it."""

import json

import numpy as np
import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.signals import Observed, Reference


def observed(
    text: str, values: dict[str, float] | None = None, confidence: float | None = None, engine: str = ""
) -> Observed:
    """A page of 100 by 200 pixels with these words."""
    box = Box(0.1, 0.1, 0.2, 0.3)
    words = tuple(Word(text=word, box=box, confidence=confidence) for word in text.split())
    origin = Provenance(words="ocr", reason="", engine=engine)
    page = Page(
        doc_id="a", number=1, width=100, height=200, words=words, source="", image="", split="", provenance=origin
    )
    return Observed.of([page], (values or {}).items())


def test_the_numbers_of_a_document() -> None:
    numbers = observed("ab abcd", {"total": 0.5}, 0.75).numbers
    assert numbers == {
        "words": 2,
        "word length": 3,
        "word height": pytest.approx(0.2),
        "page pixels": 20_000,
        "page shape": 0.5,
        "reading confidence": 0.75,
        "value of total": 0.5,
    }
    assert "reading confidence" not in observed("ab").numbers
    assert observed("").numbers.keys() == {"words", "page pixels", "page shape"}


def test_documents_of_a_reference_are_compared_with_the_others() -> None:
    texts = ["shop one total 5", "shop one total 7", "shop one sum 7"]
    reference = Reference.of([observed(text, {"total": 0.9} if "total" in text else {}) for text in texts])
    assert reference.samples["unseen words"] == [0, 0, pytest.approx(1 / 3)]
    assert reference.samples["unseen template"] == [0, 0, 1]
    assert reference.samples["value of total"] == [0.9, 0.9, 0]
    new = reference.signals(observed("shop two sum 1"))
    assert (new["unseen words"], new["unseen template"], new["value of total"]) == (pytest.approx(1 / 3), 1, 0)
    assert reference.samples["unseen word source"] == [0, 0, 0]
    other = reference.signals(observed("shop", engine="another"))
    assert (new["unseen word source"], other["unseen word source"]) == (0, 1)
    assert Reference.from_json(json.loads(json.dumps(reference.to_json()))) == reference


def test_numbers_from_files_are_those_from_memory() -> None:
    value = 0.123456789
    assert observed("a", {"x": value}).numbers == observed("a", {"x": float(np.float32(value))}).numbers
