"""Rows of a page: items that stand level, for example the entities or the amounts of a table's row.

Photographs are skewed, so positions are levelled by the median slope of the page's lines.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from layoutray.document.page import Page, Word

Item = TypeVar("Item")

_SAME_ROW = 0.5
"""Largest distance of the middles of two items in one row, as a share of the lower one's height."""


@dataclass(frozen=True, slots=True)
class Placed(Generic[Item]):
    """An item with its place on the page.

    Attributes:
        middle, height: of its words on its first line, in pixels; `middle` after the page was levelled.
        left: of all its words, in pixels.
    """

    item: Item
    middle: float
    height: float
    left: float


def slope_of_lines(page: Page) -> float:
    """Pixels that text descends per pixel to the right: the median over lines, weighted by length.

    The length is that between the middles of the first and of the last word.
    """
    lines: dict[int, list[Word]] = {}
    for word in page.words:
        lines.setdefault(word.line, []).append(word)
    steps: list[tuple[float, float]] = []
    for line in lines.values():
        first, last = min(line, key=_middle), max(line, key=_middle)
        if (across := (_middle(last) - _middle(first)) * page.width) > 0:
            # Tall letters change the top of a word, and letters below the line its bottom.
            down = min(last.box.y0 - first.box.y0, last.box.y1 - first.box.y1, key=abs) * page.height
            steps.append((across, down))
    if not steps:
        return 0.0
    across, down = np.array(steps).T
    order = np.argsort(down / across)
    middle = np.searchsorted(across[order].cumsum(), across.sum() / 2)
    return float((down / across)[order][middle])


def _middle(word: Word) -> float:
    """Of its width."""
    return (word.box.x0 + word.box.x1) / 2


def place(item: Item, page: Page, numbers: Collection[int], slope: float) -> Placed[Item]:
    """The place of an item by the numbers of its words on the page, at least one, and the slope of lines."""
    words = [page.words[number] for number in numbers]
    sides = np.array([(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words])
    sides *= page.width, page.height, page.width, page.height
    middles = (sides[:, 1] + sides[:, 3] - slope * (sides[:, 0] + sides[:, 2])) / 2
    lines = np.array([word.line for word in words])
    first = lines == lines[middles.argmin()]
    height = float((sides[first, 3] - sides[first, 1]).mean())
    return Placed(item, float(middles[first].mean()), height, float(sides[:, 0].min()))


def rows(placed: Iterable[Placed[Item]]) -> list[list[Placed[Item]]]:
    """The rows that items form, from top to bottom, each from left to right."""
    found: list[list[Placed[Item]]] = []
    for one in sorted(placed, key=lambda one: one.middle):
        row = found[-1] if found else [one]
        middle, height = (float(np.mean([getattr(other, name) for other in row])) for name in ("middle", "height"))
        if found and one.middle - middle < _SAME_ROW * min(height, one.height):
            row.append(one)
        else:
            found.append([one])
    return [sorted(row, key=lambda one: one.left) for row in found]
