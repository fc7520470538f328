"""Scripts that review documents on the review page as a person does, with keys and the mouse, and know the truth."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playwright.sync_api import Locator, expect

from benchmarks.measure.keystrokes import Hands
from layoutray.document import Box, Page
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form

_ROWS = """all => all.map(row => [
    row.dataset.id, row.querySelector(".name").textContent, row.querySelector(".text").textContent])"""
_CHANGED = "before => document.querySelector('.document h1')?.textContent !== before"
_NEXT = """asked => document.querySelector(".question h1") &&
    String([...document.querySelectorAll(".question bdi")].map(one => one.textContent)) !== String(asked)"""
_MOVED = "top => document.querySelector('svg.page').getBoundingClientRect().y !== top"
_LONGEST_ANSWER = 10.0
_MARGIN = 2.0
"""Pixels of the screen between words and the rectangle that is drawn around them."""

_Bounds = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels of the screen."""


@dataclass(frozen=True, slots=True)
class TrueValue:
    """A value of a document: its text, and the numbers of its words on the first page; none if they were not found."""

    text: str
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TrueDocument:
    """The first page of a document, and its values by name."""

    page: Page
    values: Mapping[str, TrueValue]


@dataclass(frozen=True, slots=True)
class ReviewTime:
    """Time of a review.

    Attributes:
        values: that the documents have.
        script: seconds that the script took, with the browser and the server.
        person: seconds that a person would have needed, by the keystroke-level model.
    """

    documents: int
    values: int
    script: float
    person: float


class Reviewer:
    """Confirms what is right, and chooses the words of other values, or types them.

    Args:
        truths: by the names of documents on the page.
        schema: types of the fields; values are right if their normal forms are equal.
    """

    def __init__(self, hands: Hands, truths: Mapping[str, TrueDocument], schema: Mapping[str, FieldType]) -> None:
        self._hands = hands
        self._page = hands.page
        self._truths = truths
        self._schema = schema

    def review_all(self) -> ReviewTime:
        """Review the documents of the queue until none is left."""
        self._page.goto("/#/")
        first = self._page.locator("table.documents a").first
        expect(first).to_be_visible()
        documents, values, before, started = 0, 0, self._hands.seconds, time.perf_counter()
        self._hands.click(*_middle(_bounds(first)))
        self._page.locator(".document h1").wait_for()
        name = self._name()
        while name:
            values += len(self._truths[name].values)
            documents += 1
            self._review(self._truths[name])
            self._hands.press("Control+Enter")
            self._confirm_all()
            self._page.wait_for_function(_CHANGED, arg=name)
            name = self._name()
        return ReviewTime(documents, values, time.perf_counter() - started, self._hands.seconds - before)

    def _confirm_all(self) -> None:
        """Confirm the values that still need a look, if the page asks for it."""
        confirm = self._page.locator("dialog button[value=confirmed]")
        if confirm.count():
            self._hands.click(*_middle(_bounds(confirm)))

    def _name(self) -> str:
        """The name of the document that is shown; empty when the queue is shown instead."""
        if not self._page.locator(".document").count():
            return ""
        if self._page.locator("li.value").count():
            expect(self._page.locator("li.value.current")).to_have_count(1)
        return self._page.locator(".document h1").inner_text()

    def _review(self, truth: TrueDocument) -> None:
        rows: Sequence[tuple[str, str, str]] = self._page.locator("li.value").evaluate_all(_ROWS)
        for value_id, name, text in rows:
            self._go_to(value_id)
            self._hands.think()
            if name in truth.values:
                self._treat(name, text, truth)
            else:
                self._hands.press("Delete")
        found = {name for _, name, _ in rows}
        for name in (name for name in truth.values if name not in found):
            self._hands.think()
            self._add(name, truth)

    def _go_to(self, value_id: str) -> None:
        """Make a value the current one. Values are treated in their order, so that this one is next or current."""
        current = self._page.locator("li.value.current")
        while current.get_attribute("data-id") != value_id:
            self._hands.press("ArrowDown")

    def _treat(self, name: str, text: str, truth: TrueDocument) -> None:
        value = truth.values[name]
        if not self._is_right(name, text, value):
            if value.words:
                self._hands.press("w")
                self._choose(truth.page, value.words)
            self._type_if_wrong(name, value)
        self._hands.press("Enter")

    def _add(self, name: str, truth: TrueDocument) -> None:
        value = truth.values[name]
        self._hands.press("a")
        self._hands.type(name)
        self._hands.press("Enter")
        if value.words:
            self._choose(truth.page, value.words)
        else:
            expect(self._page.locator(".pages.choosing")).to_have_count(1)
            self._hands.press("Escape")
        self._type_if_wrong(name, value)

    def _type_if_wrong(self, name: str, value: TrueValue) -> None:
        shown = self._page.locator("li.value.current .text").inner_text()
        if not self._is_right(name, shown, value):
            self._type(value)

    def _type(self, value: TrueValue) -> None:
        self._hands.press("e")
        self._hands.type(value.text)
        self._hands.press("Enter")

    def _is_right(self, name: str, text: str, value: TrueValue) -> bool:
        field = self._schema[name]
        return normal_form(text, field) == normal_form(value.text, field)

    def _choose(self, page: Page, words: Sequence[int]) -> None:
        """Draw a rectangle around words, and click those that are chosen wrongly by it."""
        expect(self._page.locator(".pages.choosing")).to_have_count(1)
        x0, y0, x1, y1 = self._shown(page, words)
        left, top, right, bottom = _bounds(self._page.locator("svg.page").first)
        start = max(x0 - _MARGIN, left + 1), max(y0 - _MARGIN, top + 1)
        self._hands.drag(*start, min(x1 + _MARGIN, right - 1), min(y1 + _MARGIN, bottom - 1))
        for word in sorted({*self._chosen()} ^ {*words}):
            self._hands.click(*_middle(self._shown(page, [word])))
        self._hands.press("Enter")

    def _chosen(self) -> list[int]:
        """The words that are chosen on the page."""
        expect(self._page.locator(".pages.choosing")).to_have_count(1)
        return self._page.locator("polygon.chosen").evaluate_all("all => all.map(one => Number(one.dataset.word))")

    def _shown(self, page: Page, words: Sequence[int]) -> _Bounds:
        """Where words are on the screen, once they are scrolled into view."""
        share = Box.around(page.words[word].box for word in words)
        sheet, view = self._page.locator("svg.page").first, _bounds(self._page.locator(".pages"))
        before = _bounds(sheet)
        box = _placed(share, before)
        if box[1] < view[1] + _MARGIN or box[3] > view[3] - _MARGIN:
            self._hands.scroll(*_middle(view), _middle(box)[1] - _middle(view)[1])
            self._page.wait_for_function(_MOVED, arg=before[1])
            box = _placed(share, _bounds(sheet))
        return box


class Questioner(Reviewer):
    """Answers the questions of the mode yes or no, and chooses the right value, or its words, of what is wrong.

    What OCR has misread in them is not typed over, because the model learns words. A value that is nothing but misread
    stays rejected.

    Args:
        seconds: of a person. No question is begun in the last ten seconds, so that a no does not take longer.
    """

    def __init__(
        self, hands: Hands, truths: Mapping[str, TrueDocument], schema: Mapping[str, FieldType], seconds: float
    ) -> None:
        super().__init__(hands, truths, schema)
        self._limit = seconds - _LONGEST_ANSWER

    def review_all(self) -> ReviewTime:
        """Answer questions until the time is over, or none is left."""
        self._page.goto("/#/questions")
        before, started = self._hands.seconds, time.perf_counter()
        documents: set[str] = set()
        values = 0
        while self._hands.seconds - before < self._limit:
            self._page.locator(".question h1").wait_for()
            asked = self._page.locator(".question bdi").all_inner_texts()
            if not asked:
                break
            document, name, text, *alternatives = asked
            documents.add(document)
            values += 1
            self._answer(name, text, alternatives, self._truths[document])
            self._page.wait_for_function(_NEXT, arg=asked)
        expect(self._page.locator("#status")).not_to_contain_text("Saving")
        return ReviewTime(len(documents), values, time.perf_counter() - started, self._hands.seconds - before)

    def _answer(self, name: str, text: str, alternatives: Sequence[str], truth: TrueDocument) -> None:
        self._hands.think()
        right = [
            name in truth.values and self._is_right(name, one, truth.values[name]) for one in (text, *alternatives)
        ]
        if right[0]:
            self._hands.press("y")
            return
        self._hands.think()  # the person searches the right value
        if any(right):
            self._hands.press(str(right.index(True)))
            return
        if name not in truth.values:
            self._hands.press("x")
            return
        self._hands.press("n")
        self._page.locator("li.value.current").wait_for()
        if words := truth.values[name].words:
            self._hands.press("w")
            if sorted(words) == self._chosen():
                self._hands.press("Escape")
            else:
                self._choose(truth.page, words)
        self._hands.press("Enter")


class Retyper(Reviewer):
    """Types each value over, whether it is right or not."""

    def _treat(self, name: str, text: str, truth: TrueDocument) -> None:
        self._type(truth.values[name])

    def _add(self, name: str, truth: TrueDocument) -> None:
        self._hands.press("a")
        self._hands.type(name)
        self._hands.press("Enter")
        expect(self._page.locator(".pages.choosing")).to_have_count(1)
        self._hands.press("Escape")
        self._type(truth.values[name])


def _placed(share: Box, sheet: _Bounds) -> _Bounds:
    left, top, right, bottom = sheet
    across, down = right - left, bottom - top
    return left + share.x0 * across, top + share.y0 * down, left + share.x1 * across, top + share.y1 * down


def _bounds(locator: Locator) -> _Bounds:
    box = locator.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def _middle(box: _Bounds) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
