"""Marks of forms: check boxes and radio buttons, which are words of a page, and the labels beside them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from rapidfuzz import fuzz

from layoutray.document.answers import Entity, reading_confidence, regions_of
from layoutray.document.field_type import FieldType
from layoutray.document.page import OFF, ON, Page

_WIDEST_GAP = 4.0
"""Between a mark and its label, and between words of a label, as a share of a word's height."""
LEAST_SHARED = 0.3
"""Of the height of the lower one of two words in a line. Boxes stand higher than letters, and lines can slope."""
_LEAST_ALIKE, _PART_ALIKE = 90.0, 75.0
"""Percent of a name's words that a label has, and of its letters where these are enough."""
_FEWEST_LETTERS = 4


def has_words(wanted: str, printed: str) -> bool:
    """Whether a printed label has the words of the one that is wanted."""
    return fuzz.token_set_ratio(wanted, printed) >= _LEAST_ALIKE


def has_part(wanted: str, printed: str) -> bool:
    """Whether a printed label has most letters of the one that is wanted, as `I smoke` those of `smoker`."""
    return min(len(wanted), len(printed)) >= _FEWEST_LETTERS and fuzz.partial_ratio(wanted, printed) >= _PART_ALIKE


class Marks:
    """The marks of a page, and the words beside them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._top, self._bottom, self._left = (
            np.array([getattr(word.box, side) for word in page.words]) for side in ("y0", "y1", "x0")
        )
        self.numbers = [number for number in range(len(page.words)) if self._is_mark(number)]

    def nearest(self, numbers: Sequence[int]) -> int | None:
        """The first of these words that is a mark, else the nearest mark in their line; None without one."""
        if own := [number for number in numbers if self._is_mark(number)]:
            return own[0]
        sides = [side for number in (numbers[0], numbers[-1]) for side in self.beside(number)]
        gaps = {side[-1]: self._gap(*side[-2:]) for side in sides if self._is_mark(side[-1])}
        return min(gaps, key=gaps.__getitem__, default=None)

    def labelled(
        self, label: str, text: str = ON + OFF, alike: Callable[[str, str], bool] = has_words
    ) -> tuple[int, float] | None:
        """The mark whose label is most like `label`, and how like it is, 0..1; None without one, and for several.

        Args:
            text: that the mark may have.
            alike: whether a printed label can be the one that is wanted.
        """
        wanted, found = plain(label), list[tuple[float, int, int, list[int]]]()
        for number in self.numbers:
            if self._page.words[number].text in text:
                for side in self.beside(number):
                    words = sorted(one for one in side if not self._is_mark(one))
                    printed = plain(" ".join(self._page.words[one].text for one in words))
                    if alike(wanted, printed):
                        found.append((fuzz.ratio(wanted, printed) / 100, -round(self._gap(*side[:2])), number, words))
        if not found:
            return None
        # A label between two marks is that of the nearer one, or else of the first.
        like, _, number, words = max(found, key=lambda one: one[:2])
        is_only = all(other[0] < like or other[3] == words for other in found)
        return (number, like) if is_only else None

    def _is_mark(self, number: int) -> bool:
        return self._page.words[number].text in (ON, OFF)

    def beside(self, number: int) -> tuple[list[int], list[int]]:
        """A word with those in its line to the right, and to the left, each up to a wide gap or to the next mark."""
        box = self._page.words[number].box
        shared = np.minimum(self._bottom, box.y1) - np.maximum(self._top, box.y0)
        row = np.flatnonzero(shared >= LEAST_SHARED * np.minimum(self._bottom - self._top, box.y1 - box.y0))
        row = row[self._left[row].argsort(kind="stable")].tolist()
        place = row.index(number)
        return self._near(row[place:]), self._near(row[place::-1])

    def _near(self, row: Sequence[int]) -> list[int]:
        near = [row[0]]
        for number in row[1:]:
            box = self._page.words[number].box
            if self._gap(near[-1], number) > _WIDEST_GAP * (box.y1 - box.y0) * self._page.height:
                break
            near.append(number)
            if self._is_mark(number):
                break
        return near

    def _gap(self, *pair: int) -> float:
        one, other = (self._page.words[number].box for number in pair)
        return max(other.x0 - one.x1, one.x0 - other.x1) * self._page.width


def labelled_marks(page: Page, schema: Mapping[str, FieldType]) -> Iterator[Entity]:
    """The marks that have the description, or else the name, of a field of type `mark` as their label."""
    wanted = {name: kind.description or name for name, kind in schema.items() if kind.type == "mark"}
    marks = Marks(page) if wanted else None
    for name, label in wanted.items():
        if marks and (found := marks.labelled(label)):
            yield mark_entity(page, name, *found)


def mark_entity(page: Page, name: str, number: int, confidence: float) -> Entity:
    """The mark that is word `number` of a page, as the value of a field."""
    word = page.words[number]
    return Entity(
        type=name,
        content=word.text,
        confidence=confidence,
        bounding_regions=regions_of(page, [word]),
        words=(number,),
        reading_confidence=reading_confidence([word]),
    )


def plain(text: str) -> str:
    """The words of a text in small letters, without punctuation."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())
