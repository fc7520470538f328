"""Which reviewed values count towards a promise, which thresholds they show, and how often a shown one is wrong."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutray.metrics.acceptance import Goal
from layoutray.review.documents import AnsweredDocument
from layoutray.review.promise import AnsweredBy, Promise, newest, of_field, promises
from layoutray.review.store import ReviewStore
from layoutray.review.values import Prediction

_GOAL = Goal(0.9, 0.1)
"""21 right answers show it, and 25 at any time."""


def _said(confidence: float, accepted: bool = False, name: str = "total", row: str = "") -> Prediction:
    return Prediction(
        name=name,
        text="7",
        value="7.00",
        confidence=confidence,
        accepted=accepted,
        page=1,
        words=(),
        polygons=(),
        row=row,
    )


def _add(
    store: ReviewStore,
    said: Iterable[Prediction],
    version: str = "1",
    right: bool | None = True,
    of: tuple[str, str] = ("", ""),
) -> None:
    """A document that a person finds right or wrong, or has not looked at; `of` is its owner and its id."""
    count = store.database.rows("SELECT count(*) AS count FROM documents")[0]["count"]
    number = store.add(
        AnsweredDocument(
            doc_id=of[1] or f"d{count}", source="d.png", model_id="m", model_version=version, pages=(), said=tuple(said)
        ),
        of[0],
    )
    found = store.review(number)
    assert found
    if right is not None:
        values = [replace(one, state="confirmed" if right else "removed") for one in found.values]
        store.save(number, 0, values, done=False, reviewer="anna")


def _promise(store: ReviewStore, **versions: float | None) -> Promise:
    model = AnsweredBy(("m",), {version: {"total": from_} for version, from_ in versions.items()})
    return promises(store, None, model, _GOAL)[0]


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore.open(str(tmp_path / "review.db"), sample=0.5)


def test_reviewed_answers_show_a_threshold_and_more_of_them_a_lower_one(store: ReviewStore) -> None:
    assert _promise(store, v1=None).text(_GOAL) == (
        "total: no answer is accepted yet (risk 0.1, 0 reviewed documents with accepted answers); "
        "25 more right answers needed to accept from confidence 0.9 on"
    )
    for _ in range(24):
        _add(store, [_said(0.95)], "v1")
    _add(store, [_said(0.95)], "v1", right=None)
    _add(store, [_said(0.7)], "v1", right=False)
    waiting = _promise(store, v1=None)
    assert (waiting.lowered, waiting.next_from, waiting.needed) == (None, 0.9, 1)
    _add(store, [_said(0.95)], "v1")
    shown = _promise(store, v1=None)
    assert shown.lowered == 0.8, "no answer between 0.8 and 0.9 speaks against it"
    present = _promise(store, v1=None, v2=0.8)
    assert (present.documents, present.lowered, present.next_from) == (25, None, 0.6)
    assert (present.shown >= 0.9, present.needed) == (True, 32)


def test_of_a_version_that_accepts_answers_only_drawn_ones_count(store: ReviewStore) -> None:
    for _ in range(60):
        _add(store, [_said(0.95, accepted=True)], "v1")
        _add(store, [_said(0.7)], "v1")
    drawn = "SELECT count(*) AS count FROM said WHERE json_extract(content, '$.drawn') AND confidence >= ?"
    high, every = (store.database.rows(drawn, least)[0]["count"] for least in (0.9, 0.0))
    assert 20 < high < 40 < every < 80
    assert _promise(store, v1=0.9).documents == high
    assert _promise(store, v1=0.9, v2=0.0).documents == every
    assert _promise(store, v1=None, v2=0.0).documents == 120
    assert _promise(store, another=0.0).documents == 0, "of another model"


def test_a_document_that_was_drawn_and_uploaded_or_answered_by_two_versions_counts_once(store: ReviewStore) -> None:
    for owner, version in (("scanner", "v1"), ("anna", "v1"), ("scanner", "v2")):
        _add(store, [_said(0.95)], version, of=(owner, "sent three times"))
    _add(store, [_said(0.95)], "v2")
    assert _promise(store, v1=None, v2=None).needed == 25 - 2


def test_wrong_answers_lower_a_promise_and_values_of_records_do_not_count(store: ReviewStore) -> None:
    for number in range(40):
        _add(store, [_said(0.95), _said(0.95, row="items/1/1")], "v1", right=number % 4 > 0)
    found = _promise(store, v1=None, v2=0.9)
    assert (found.documents, found.lowered) == (40, None)
    assert 0.5 < found.shown < 0.75
    assert "more right answers of the sample needed for 90 %" in found.text(_GOAL)


def test_nothing_is_needed_where_all_answers_are_accepted() -> None:
    """Too few have a confidence of 0.9 to show this threshold by themselves."""
    rows = [(str(number), "total", 0.95 if number < 10 else 0.5, True) for number in range(60)]
    found = of_field("total", rows, 0.0, _GOAL)
    assert (found.shown > 0.9, found.lowered, found.next_from, found.needed) == (True, None, None, 0)


def test_the_model_of_the_last_document_and_its_thresholds_are_found(store: ReviewStore) -> None:
    assert newest(store) is None
    _add(store, [_said(0.95, accepted=True), _said(0.5), _said(0.99, name="date")], "v7")
    model = newest(store)
    assert model == AnsweredBy(("m",), {"v7": {"date": None, "total": 0.95}})
    *fields, every = promises(store, None, model, Goal())
    assert [one.field for one in fields] == ["date", "total"]
    assert (every.field, every.documents <= 1) == ("", True)


@pytest.mark.slow
def test_a_threshold_that_does_not_keep_the_promise_is_shown_at_most_as_often_as_the_risk_says() -> None:
    """2,000 owners look after every 25 of 500 documents, and take the lowest threshold that was ever shown."""
    random = np.random.default_rng(1)
    broken = 0
    for _ in range(2000):
        confidence = random.random(500)
        # Of the answers from 0.6 on all are right, from 0.2 on 0.899: the threshold 0.2 is wrong.
        right = random.random(500) < np.where(confidence >= 0.6, 1, 0.798)
        rows = [(str(n), "total", float(c), bool(r)) for n, (c, r) in enumerate(zip(confidence, right, strict=True))]
        shown = (of_field("total", rows[:seen], None, _GOAL).lowered for seen in range(25, 501, 25))
        broken += any(lowered is not None and lowered <= 0.2 for lowered in shown)
    assert broken / 2000 <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / 2000)
    assert broken
