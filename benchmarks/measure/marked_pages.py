"""Pages with known marks, and how many of them are found with the right state."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.measure.mark_drawings import Point, Sheet, draw
from layoutray.document import Box, Word
from layoutray.document.page import OFF, ON
from layoutray.synthetic.render import Draw, Drawn, document

Sides = NDArray[np.float64]
"""x0, y0, x1, y1 in pixels, (boxes, 4)."""
_FUNSD = Path(__file__).with_name("funsd_marks.csv")
_LEAST_SHARED = 0.5
"""Least intersection over union of a mark that is found."""


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A picture with the sides of its marks, whether each is on, and the words of the page, if they are known."""

    picture: NDArray[np.uint8]
    sides: Sides
    on: NDArray[np.bool_]
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """Numbers of true marks, of found ones, of true ones at the place of a found one, and of those of its state."""

    true: int
    found: int
    placed: int
    right: int

    @property
    def f1(self) -> float:
        """Percent. A mark is right if it has the right place and the right state."""
        return 200 * self.right / max(self.true + self.found, 1)

    @property
    def f1_of_places(self) -> float:
        return 200 * self.placed / max(self.true + self.found, 1)

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.true + other.true, self.found + other.found, self.placed + other.placed, self.right + other.right
        )


def drawn_pages(seed: str, count: int, how: Draw) -> Iterator[MarkedPage]:
    """The first pages of `count` generated documents."""
    for number in range(count):
        pictures, annotation = document(Random(f"{seed}/{number}"), how)
        words = annotation.get("words") or annotation["pages"][0]["words"]
        marks = [word for word in words if word["text"] in (ON, OFF)]
        sides = np.array([word["box"] for word in marks], np.float64).reshape(-1, 4)
        on = np.array([word["text"] == ON for word in marks], np.bool_)
        yield MarkedPage(np.asarray(pictures[0]), sides, on)


def funsd_pages(root: Path) -> Iterator[MarkedPage]:
    """All test forms of FUNSD below `root` with their annotated words; the boxes on nine were annotated by eye."""
    marks: dict[str, list[list[str]]] = defaultdict(list)
    with _FUNSD.open(encoding="utf-8", newline="") as file:
        for page, *row in list(csv.reader(file))[1:]:
            marks[page].append(row)
    for path in sorted((root / "dataset" / "testing_data" / "images").glob("*.png")):
        table = np.array(marks[path.stem], np.float64).reshape(-1, 5)
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        grey = np.asarray(picture, np.uint8)
        form = json.loads((path.parent.parent / "annotations" / f"{path.stem}.json").read_bytes())["form"]
        words = tuple(
            Word(text=word["text"], box=Box.from_pixels(word["box"], grey.shape[1], grey.shape[0]))
            for question in form
            for word in question["words"]
            if word["text"].strip()
        )
        yield MarkedPage(grey, table[:, :4], table[:, 4] > 0, words)


def score(page: MarkedPage, found: Sequence[Word]) -> Score:
    """Each found mark is at the place of at most one true one."""
    height, width = page.picture.shape[:2]
    sides = np.array([word.box.to_pixels(width, height) for word in found]).reshape(-1, 4)
    shared = overlaps(page.sides, sides)
    placed = right = 0
    while shared.size and shared.max() >= _LEAST_SHARED:
        true, other = (int(number) for number in np.unravel_index(shared.argmax(), shared.shape))
        shared[true] = shared[:, other] = 0
        placed += 1
        right += (found[other].text == ON) == bool(page.on[true])
    return Score(len(page.sides), len(found), placed, right)


def overlaps(one: Sides, other: Sides) -> NDArray[np.float64]:
    """Intersection over union of boxes, (boxes of one, boxes of other)."""
    least = np.maximum(one[:, None, :2], other[None, :, :2])
    most = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = np.clip(most - least, 0, None).prod(axis=2)
    areas = [np.prod(sides[:, 2:] - sides[:, :2], axis=1) for sides in (one, other)]
    return shared / (areas[0][:, None] + areas[1] - shared)


def unseen_form(random: Random) -> Drawn:
    """A form whose boxes and marks are drawn in other ways than those the network has learned from."""
    return draw(random, (_sign,), (_stroke_down, _star, _double_tick))


def _sign(sheet: Sheet, corner: Point, opposite: Point) -> None:
    """A box of the font DejaVu."""
    face = sheet.face.scaled(1.25 * sheet.side / sheet.face.size)
    font = type(face)("DejaVuSans", face.size).font()
    left, top, right, bottom = font.getbbox(OFF)
    at = ((corner[0] + opposite[0] - left - right) / 2, (corner[1] + opposite[1] - top - bottom) / 2)
    sheet.canvas.pen.text(at, OFF, fill=sheet.shade // 2, font=font)


def _stroke_down(sheet: Sheet, middle: Point, side: float) -> None:
    x, y, reach = *middle, side * sheet.random.uniform(0.4, 0.8)
    sheet.stroke([(x + reach, y - reach), middle, (x - reach, y + reach)], side * 0.05)


def _star(sheet: Sheet, middle: Point, side: float) -> None:
    x, y, reach = *middle, side * sheet.random.uniform(0.3, 0.5)
    for across, down in ((1, 1), (1, -1), (1, 0)):
        sheet.stroke([(x - across * reach, y - down * reach), (x + across * reach, y + down * reach)], side * 0.04)


def _double_tick(sheet: Sheet, middle: Point, side: float) -> None:
    x, y = middle
    for right in (-0.15, 0.15):
        start = x + right * side
        sheet.stroke(
            [(start - 0.3 * side, y), (start, y + 0.25 * side), (start + 0.35 * side, y - 0.4 * side)], side * 0.04
        )
