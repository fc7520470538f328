"""Rows of a page: items that stand level, for example the entities or the amounts of a table's row.

Photographs are skewed, so positions are levelled by the median slope of the page's lines.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from layoutray.document.page import Page

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
    """Pixels that text descends per pixel to the right: the median over neighbours on a line, weighted by distance."""
    lines: dict[int, list[tuple[float, float]]] = {}
    for word in page.words:
        middle = (word.box.x0 + word.box.x1) / 2 * page.width, (word.box.y0 + word.box.y1) / 2 * page.height
        lines.setdefault(word.line, []).append(middle)
    steps = [
        (right[0] - left[0], right[1] - left[1])
        for line in lines.values()
        for left, right in pairwise(sorted(line))
        if right[0] > left[0]
    ]
    if not steps:
        return 0.0
    across, down = np.array(steps).T
    order = np.argsort(down / across)
    middle = np.searchsorted(across[order].cumsum(), across.sum() / 2)
    return float((down / across)[order][middle])


def place(item: Item, page: Page, numbers: Collection[int], slope: float) -> Placed[Item]:
    """The place of an item.

    Args:
        numbers: the indices of its words on the page, at least one.
        slope: of the page's lines, see `slope_of_lines`.
    """
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
        if found and _are_level(found[-1], one):
            found[-1].append(one)
        else:
            found.append([one])
    return [sorted(row, key=lambda one: one.left) for row in found]


def _are_level(row: list[Placed[Item]], one: Placed[Item]) -> bool:
    middle, height = (float(np.mean([getattr(other, name) for other in row])) for name in ("middle", "height"))
    return one.middle - middle < _SAME_ROW * min(height, one.height)
