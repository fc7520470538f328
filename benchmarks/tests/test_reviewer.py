"""The scripts that review and retype documents on the review page, in a real browser."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page

from benchmarks.measure.keystrokes import BUTTON, HOME, KEY, MENTAL, POINT, Hands
from benchmarks.measure.reviewer import Questioner, Retyper, Reviewer, TrueDocument, TrueValue
from layoutray.cli.work.review import local_app
from layoutray.document.field_type import FieldType
from layoutray.review.documents import AnsweredDocument
from layoutray.review.store import ReviewStore
from tests.browser import chromium, listening, opened
from tests.review.documents import answered

NAMES = ("company", "date", "total", "number")
SCHEMA = {name: FieldType(type="name") for name in NAMES}
LOST = "date"

pytestmark = pytest.mark.browser


def wrong(made: AnsweredDocument) -> AnsweredDocument:
    """The answers of a model that takes the company for the total, has not found the date, and adds a value."""
    right = {one.name: one for one in made.said if not one.row and one.name in NAMES}
    company = right["company"]
    said = {name: one for name, one in right.items() if name != LOST}
    said["total"] = replace(company, name="total")
    said["vat"] = replace(company, name="vat")
    return replace(made, said=tuple(replace(one, accepted=False, confidence=0.6) for one in said.values()))


def truth(made: AnsweredDocument) -> TrueDocument:
    """What is written; the number is known without its words, and differs from what OCR has read."""
    found = {one.name: TrueValue(one.text, one.words) for one in made.said if not one.row and one.name in NAMES}
    return TrueDocument(made.pages[0], {**found, "number": TrueValue("typed 7", ())})


@pytest.fixture(params=["review", "retype"])
def way(request: pytest.FixtureRequest) -> type[Reviewer]:
    return {"review": Reviewer, "retype": Retyper}[request.param]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReviewStore]:
    opened_store = ReviewStore.open(str(tmp_path / "review.db"), sample=0.0)
    yield opened_store
    opened_store.close()


@pytest.fixture
def tab(store: ReviewStore) -> Iterator[Page]:
    app = local_app(store, "script", "runs/answers")
    size = {"width": 1280, "height": 1000}
    with chromium() as browser, listening(app) as url, opened(browser, url, viewport=size) as page:
        yield page


def test_scripts_leave_what_is_true(store: ReviewStore, tab: Page, way: type[Reviewer]) -> None:
    made = [answered(f"script-{number}") for number in range(2)]
    truths = {one.source: truth(one) for one in made}
    numbers = [store.add(wrong(one)) for one in made]
    time = way(Hands(tab), truths, SCHEMA).review_all()
    assert (time.documents, time.values) == (2, sum(len(one.values) for one in truths.values()))
    assert min(time.script, time.person) > 0
    for number, one in zip(numbers, made, strict=True):
        review = store.review(number)
        assert review
        assert review.entry.state == "done"
        kept = {value.name: value for value in review.values if value.state != "removed"}
        expected = truths[one.source].values
        assert {name: value.text for name, value in kept.items()} == {n: value.text for n, value in expected.items()}
        if way is Reviewer:
            assert {name: kept[name].words for name in (LOST, "total")} == {
                name: expected[name].words for name in (LOST, "total")
            }


def test_the_time_of_a_person_is_the_sum_of_the_operators(tab: Page) -> None:
    hands = Hands(tab)
    hands.think()
    hands.press("Control+Enter", "a")
    hands.type("abc")
    hands.click(1, 1)
    hands.drag(1, 1, 9, 9)
    hands.press("b")
    keys, moves = 7 * KEY, 3 * POINT + 4 * BUTTON
    assert hands.seconds == pytest.approx(MENTAL + keys + moves + 2 * HOME)


def test_questions_are_answered_until_the_time_is_over(store: ReviewStore, tab: Page) -> None:
    made = [answered(f"script-{number}") for number in range(2)]
    truths = {one.source: truth(one) for one in made}
    numbers = [store.add(wrong(one)) for one in made]
    asked = sum(len(wrong(one).said) for one in made)
    few = Questioner(Hands(tab), truths, SCHEMA, seconds=10.1).review_all()
    assert (few.documents, few.values) == (1, 1)
    rest = Questioner(Hands(tab), truths, SCHEMA, seconds=1000).review_all()
    assert few.values + rest.values == asked
    for number, one in zip(numbers, made, strict=True):
        review = store.review(number)
        assert review
        kept = {value.name: value.text for value in review.values if value.state == "confirmed"}
        assert kept == {name: truths[one.source].values[name].text for name in ("company", "total")}
        states = {value.name: value.state for value in review.values}
        assert (states["number"], states["vat"]) == ("rejected", "removed"), "the number is only misread"
