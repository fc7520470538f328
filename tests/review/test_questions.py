"""Which value people are asked about next: the one whose answer is worth most, and nobody gets one twice."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutray.review.documents import AnsweredDocument
from layoutray.review.questions import Question, Questions, gains
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction
from tests.review.documents import answered

_HEADS = ("acorn bakery harbour street", "bluebird garage mountain road")
"""Words of two templates."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReviewStore]:
    opened = ReviewStore.open(str(tmp_path / "review.db"))
    yield opened
    opened.close()


def made(name: str, head: str = _HEADS[0], **confidences: float) -> AnsweredDocument:
    """A document of a template, with values of these names and confidences; those from 0.99 on are accepted."""
    one = answered("questions")
    words = tuple(replace(one.pages[0].words[0], text=text) for text in head.split())
    page = replace(one.pages[0], doc_id=name, words=words)
    said = tuple(
        Prediction(
            name=field,
            text="7.50",
            value="7.50",
            confidence=confidence,
            accepted=confidence >= 0.99,
            page=1,
            words=(0,),
            polygons=(),
        )
        for field, confidence in confidences.items()
    )
    return replace(one, doc_id=name, pages=(page,), said=said)


def answer(store: ReviewStore, asked: Question, state: str = "confirmed") -> None:
    review = store.review(asked.number)
    assert review
    values = [replace(value, state=state) if value.id == asked.id else value for value in review.values]
    store.save(asked.number, review.entry.revision, values, done=False, reviewer="anna")


def test_each_value_is_asked_once_the_least_certain_and_new_templates_first(store: ReviewStore) -> None:
    first = store.add(made("a", total=0.55, date=0.97))
    like_it = store.add(made("b", total=0.9, date=0.999))
    other = store.add(made("c", _HEADS[1], total=0.8))
    questions, order = Questions(store), []
    while asked := questions.next("", "anna", ()):
        assert asked.left == 4 - len(order)
        order.append((asked.number, asked.id))
        answer(store, asked, "confirmed" if len(order) % 2 else "rejected")
    total, date = "said-0", "said-1"
    assert order[:2] == [(first, total), (other, total)], "the second receipt of a template says little"
    assert {*order[2:]} == {(like_it, total), (first, date)}, "an accepted value needs no look"


def test_what_was_answered_is_not_asked_again_of_another_version(store: ReviewStore) -> None:
    first, finished = store.add(made("a", total=0.5, date=0.6, iban=0.5)), store.add(made("b", total=0.5))
    questions = Questions(store)
    store.add(made("c", total=0.5), owner="another owner")
    answer(store, Question(first, "said-0", left=4))
    review = store.review(finished)
    assert review
    store.save(finished, 0, [replace(one, state="confirmed") for one in review.values], done=True, reviewer="anna")

    again = store.add(replace(made("a", total=0.4, date=0.7, tax=0.5), model_version="2"))
    store.add(replace(made("b", total=0.4, date=0.5), model_version="2"))
    asked = [questions.next("", "anna", ()), questions.next("", "bert", ())]
    assert {(one.number, one.id) for one in asked if one} == {(again, "said-1"), (again, "said-2")}
    assert questions.next("", "carla", ()) is None


def test_nobody_is_asked_what_others_are_asked_or_what_was_skipped(store: ReviewStore) -> None:
    store.add(made("a", total=0.5))
    store.add(made("b", total=0.7))
    questions = Questions(store)
    anna, bert = questions.next("", "anna", ()), questions.next("", "bert", ())
    assert anna
    assert bert
    assert anna.number != bert.number
    assert questions.next("", "carla", ()) is None
    assert questions.next("", "anna", ()) == anna, "she has not answered it"
    assert questions.next("", "anna", [(anna.number, anna.id)]) is None
    assert questions.next("another owner", "dora", ()) is None


def test_the_gain_is_what_an_answer_adds_for_all_values_of_a_field() -> None:
    random = np.random.default_rng(1)
    own, known = (random.normal(size=(count, 5)).astype(np.float32) for count in (6, 2))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    uncertainty = random.random(6).astype(np.float32)

    def worth(answers: np.ndarray) -> float:
        return float(uncertainty @ np.maximum((own @ answers.T).max(1), 0))

    before = worth(known)
    expected = [worth(np.vstack([known, one])) - before for one in own]
    assert gains(own, known, uncertainty) == pytest.approx(expected, abs=1e-5)
