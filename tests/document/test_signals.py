"""Signals of documents: each document of a reference is compared with the others of it."""

import json
from random import Random

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


def test_words_that_are_unseen_and_come_again_show_a_new_vendor() -> None:
    rng = Random(3)

    def document(*own: int) -> Observed:
        return Observed({"words": 8.0}, (*rng.sample(range(40), 6), *own), template=1, source=1)

    usual = [document(*rng.choices(range(100, 160), k=2)) for _ in range(50)]
    reference = Reference.of(usual)
    drawn, found = Random(0).sample(usual, 50), reference.samples["repeated unseen words"]
    for place, one in enumerate(drawn):
        recent = [drawn[(place - step) % 50] for step in range(1, reference.recent + 1)]
        others = {word for other in drawn if other is not one and other not in recent for word in other.words}
        counts = [sum(word in other.words for other in recent) for word in one.words if word not in others]
        assert found[place] == pytest.approx(sum(counts) / 8)
    recent = [reference.unseen(one) for one in (document(500, 501), document(600), document(500, 501))]
    assert reference.recent == 10
    assert reference.signals(document(500, 700), recent)["repeated unseen words"] == 0.25
    assert sum(one >= 0.25 for one in found) <= 2
