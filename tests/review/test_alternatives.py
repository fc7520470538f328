"""Alternatives of values: what a question offers, and what of it becomes truth."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from layoutray.document.tags import unknown_but_not
from layoutray.review import truth
from layoutray.review.questions import Questions
from layoutray.review.store import ReviewStore
from layoutray.review.values import predicted_values
from tests.review.documents import answered


def entity(name: str, content: str, confidence: float, word: int) -> dict[str, Any]:
    regions = [{"page_number": 1, "polygon": [float(word)] * 8}]
    return {
        "type": name, "content": content, "confidence": confidence, "bounding_regions": regions, "words": [word]
    }  # fmt: skip


_TOTAL, _LOSER = entity("total", "rm 7.50", 0.9, 0), entity("total", "6.00", 0.3, 1)
_CANDIDATES = [entity("total", f"{number}.00", 0.01 * number, number) for number in range(2, 6)]
_CANDIDATES += [entity("tax", "0.50", 0.2, 3), entity("tax", "1.50", 0.4, 4)]
_CANDIDATES.append({**entity("total", "9.00", 0.5, 6), "bounding_regions": []})
_FIELD = {**_TOTAL, "name": "total", "content": "RM 7.50", "value": "7.50", "accepted": False}
SAID = predicted_values([_FIELD], [_TOTAL, _LOSER], [], _CANDIDATES)


def test_alternatives_have_another_text_and_a_place_and_a_field_without_a_value_gets_its_best_candidate() -> None:
    total, tax = SAID
    assert (total.text, total.guess, total.needs_look) == ("RM 7.50", False, True)
    assert [one.text for one in total.alternatives] == ["6.00", "5.00", "4.00", "3.00"], "at most four"
    assert (total.alternatives[0].page, total.alternatives[0].words, len(total.alternatives[0].polygons[0])) == (
        1,
        (1,),
        8,
    )
    assert (tax.name, tax.text, tax.guess, tax.needs_look) == ("tax", "1.50", True, False)
    assert [one.text for one in tax.alternatives] == ["0.50"]
    assert tax.confidence == pytest.approx(math.sqrt(0.4))


def test_nothing_is_said_of_a_guess_until_it_is_answered(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(replace(answered("guessed"), said=SAID))
    review = store.review(number)
    assert review
    assert review.entry.looks == 1
    total, tax = review.values
    confirmed = replace(total, state="confirmed")
    revision = store.save(number, review.entry.revision, [confirmed, tax], done=False, reviewer="anna")
    asked = Questions(store).next("", "anna", ())
    assert asked
    assert (asked.number, asked.id) == (number, tax.id), "also when no value needs a look"
    store.save(number, revision, [confirmed, tax], done=True, reviewer="anna")
    (line,) = truth.reviewed(store, "")
    assert not line["partial"], "a finished document has no value that the model has only guessed"
    assert [one["name"] for one in line["values"]] == ["total"]
    store.close()


def test_of_a_value_that_the_document_has_not_no_word_can_be(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(replace(answered("absent"), said=SAID))
    review = store.review(number)
    assert review
    total, tax = review.values
    none = replace(tax, text="", words=(), page=None, state="removed")
    added = replace(none, id="added-1", name="date")
    store.save(number, review.entry.revision, [total, none, added], done=False, reviewer="anna")
    (line,) = truth.reviewed(store, "")
    (page,) = truth.pages_of(line, "train")
    assert {word.tag for word in page.words} == {unknown_but_not(["tax"])}, "of an added value nothing is known"
    store.close()


def test_a_document_with_guesses_alone_is_looked_at(tmp_path: Path) -> None:
    store = ReviewStore.open(str(tmp_path / "review.db"))
    number = store.add(replace(answered("missed"), said=SAID[1:]))
    review = store.review(number)
    assert review
    assert (review.entry.looks, review.entry.state) == (0, "open"), "the model may have missed all values"
    store.save(number, 0, [replace(one, state="confirmed") for one in review.values], done=False, reviewer="anna")
    answered_now = store.entry(number)
    assert answered_now
    assert answered_now.state == "accepted"
    store.close()
