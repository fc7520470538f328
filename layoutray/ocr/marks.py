"""Check boxes and radio buttons in the picture of a page, and whether they are on.

Shapes that can be a box are found by OpenCV: closed outlines from which thin strokes that leave them are removed, and
shapes of ink that stand alone. A small network, trained on generated forms, says of each whether it is a box, and its
state. A mark becomes a word of the page, in place of what the OCR engine has read there.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from layoutray.document import Box, Word
from layoutray.document.mark import LEAST_SHARED
from layoutray.document.page import OFF, ON

NETWORK = Path(__file__).parent / "networks" / "marks.npz"
PATCH = 40
"""Side of what the network sees, in pixels."""
AROUND = (0.5, 2.0)
"""What the network sees around a shape, as shares of its height: the shape, and whether it is a letter of a word."""
_PIXELS, _MOST_ENLARGED = 1600 * 1131, 2.0
"""Of the picture in which shapes are searched, and how much a smaller one is enlarged."""
_LOWEST, _HIGHEST = 10, 64
"""Pixels of a shape in that picture."""
_NARROWEST, _WIDEST, _WIDEST_ALONE = 0.7, 7.0, 2.6
"""Widths of shapes as a share of their height; of those that have no closed outline."""
_WIDER_THAN_A_CIRCLE = 1.4
_STROKE = 7
"""Pixels; thinner strokes that leave a shape are removed."""
_FULL = 0.62
"""Least share of its sides that a closed outline encloses; a circle has 0.79."""
_MUCH_LARGER, _RECTANGLE = 2.2, 0.8
"""Least width or height of an outline as a share of what it encloses, and least share of the sides of this."""
_BESIDE, _BESIDE_OPEN, _BESIDE_ENCLOSED = 0.25, 0.1, 0.06
"""Most ink beside a closed outline, beside any other shape, and beside what a larger outline encloses. A letter has
more, that of its word, and so has a cell of a table, whose rules go on."""
_INK = ((200, 1), (225, 3))
"""Least light of paper, of 255, and widths of gaps in outlines that are closed; faint outlines need both."""
_PROBABLE, _SURE, _EVIDENCE = 0.5, 0.97, 5.3
"""Least probability of a mark, of the surest mark of its size on the page, and least sum of the evidence
-log(1 - probability) of all of them."""
_SUREST = 1e-4
"""Least probability that a shape is none."""
_ALIKE = 1.4
"""Most ratio of the sides of marks of one size."""
_LETTERS_OF_WORD = 3
_AT_ONCE = 256
"""Shapes of one pass of the network."""

Grey = NDArray[np.uint8]
Sides = NDArray[np.int64]
"""x, y, width and height in pixels, (shapes, 4)."""


def find(picture: NDArray[np.uint8], words: Sequence[Word] = ()) -> list[Word]:
    """The marks of a picture (height, width) or (height, width, 3) as words, by falling probability."""
    grey, _ = prepared(picture)
    sides = shapes(grey)
    if not len(sides):
        return []
    classes = probabilities(patches(grey, sides))
    certain = classes[:, 1:].sum(axis=1)
    kept = _best(sides, certain)
    height, width = grey.shape
    corners = np.concatenate([sides[:, :2], sides[:, :2] + sides[:, 2:]], axis=1) / (width, height, width, height)
    states = classes[kept, 1:].max(axis=1)
    marks = [
        Word(
            text=ON if classes[number, 2] > classes[number, 1] else OFF,
            box=Box(*corners[number].tolist()),
            confidence=confidence,
        )
        for number, confidence in zip(kept, states.tolist(), strict=True)
    ]
    apart = np.array(apart_from(words, marks), np.int64)
    numbers = np.array(kept, np.int64)[apart]
    return [marks[number] for number in apart[_has_evidence(sides[numbers, 2:], certain[numbers])].tolist()]


def among(words: Sequence[Word], marks: Sequence[Word]) -> tuple[Word, ...]:
    """The words of a page with its marks in their lines, each in place of what was read there.

    A mark without a word at its height is a line and a block of its own.
    """
    sides = _sides_of(marks)
    printed = [part for word in words for part in _outside(word, sides)] if marks else [*words]
    before: dict[int, list[Word]] = {}
    others = _sides_of(printed)
    blocks = max((word.block for word in printed), default=-1)
    lines = max((word.line for word in printed), default=-1)
    for mark in sorted(marks, key=lambda mark: (mark.box.x0, mark.box.y0)):
        shared = np.minimum(others[:, 3], mark.box.y1) - np.maximum(others[:, 1], mark.box.y0)
        lower = np.minimum(others[:, 3] - others[:, 1], mark.box.y1 - mark.box.y0)
        near = np.flatnonzero(shared >= LEAST_SHARED * lower)
        if not len(near):
            lines, blocks = lines + 1, blocks + 1
            before.setdefault(len(printed), []).append(replace(mark, line=lines, block=blocks))
            continue
        gaps = np.maximum(others[near, 0] - mark.box.x1, mark.box.x0 - others[near, 2])
        nearest = int(near[gaps.argmin()])
        place = nearest + (mark.box.x0 + mark.box.x1 > others[nearest, 0] + others[nearest, 2])
        before.setdefault(place, []).append(replace(mark, line=printed[nearest].line, block=printed[nearest].block))
    return tuple(
        word for number in range(len(printed) + 1) for word in (*before.get(number, ()), *printed[number : number + 1])
    )


def apart_from(words: Sequence[Word], marks: Sequence[Word]) -> list[int]:
    """The numbers of marks that are no frame, with a word of three letters in it, and no letter inside a word."""
    long = _sides_of([word for word in words if sum(map(str.isalnum, word.text)) >= _LETTERS_OF_WORD])
    middles = (long[:, :2] + long[:, 2:]) / 2
    printed = _sides_of(words)
    kept: list[int] = []
    for number, sides in enumerate(_sides_of(marks)):
        around = ((sides[:2] <= middles) & (middles <= sides[2:])).all(axis=1).any()
        level = (sides[1] + sides[3]) / 2
        over = (
            (printed[:, 0] < sides[0])
            & (sides[2] < printed[:, 2])
            & (printed[:, 1] <= level)
            & (level <= printed[:, 3])
        )
        parts = (_outside(words[other], sides[None]) for other in np.flatnonzero(over).tolist())
        between = any(sum(any(map(str.isalnum, part.text)) for part in of_word) > 1 for of_word in parts)
        if not (around or between):
            kept.append(number)
    return kept


def _sides_of(words: Sequence[Word]) -> NDArray[np.float64]:
    sides = [(word.box.x0, word.box.y0, word.box.x1, word.box.y1) for word in words]
    return np.array(sides, np.float64).reshape(-1, 4)


def _outside(word: Word, marks: NDArray[np.float64]) -> list[Word]:
    """The parts of a word whose letters have their centres beside all marks (marks, 4)."""
    box, letter = word.box, (word.box.x1 - word.box.x0) / len(word.text)
    level = (marks[:, 1] + marks[:, 3]) / 2
    over = marks[(marks[:, 0] < box.x1) & (box.x0 < marks[:, 2]) & (box.y0 <= level) & (level <= box.y1)]
    if not len(over):
        return [word]
    middles = box.x0 + letter * (np.arange(len(word.text)) + 0.5)
    free = ~((over[:, :1] <= middles) & (middles <= over[:, 2:3])).any(axis=0)
    edges = np.flatnonzero(np.diff(free, prepend=False, append=False))
    return [word.part(start, end) for start, end in edges.reshape(-1, 2).tolist()]


def prepared(picture: NDArray[np.uint8]) -> tuple[Grey, float]:
    """The picture in grey on white paper, with as many pixels as an A4 page of 1600 pixels, and its scale."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) if picture.ndim == 3 else picture
    scale = min(math.sqrt(_PIXELS / grey.size), _MOST_ENLARGED)
    grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    small = cv2.resize(grey, (max(grey.shape[1] // 8, 1), max(grey.shape[0] // 8, 1)), interpolation=cv2.INTER_AREA)
    paper = cv2.medianBlur(cv2.morphologyEx(small, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8)), 5)
    paper = cv2.resize(paper, grey.shape[::-1], interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.divide(grey, paper, scale=255), np.uint8), scale


def shapes(grey: Grey) -> Sides:
    """Shapes that can be a box, most of them several times with slightly different sides."""
    return np.unique(np.concatenate([one for level, gap in _INK for one in _shapes_of_ink(grey, level, gap)]), axis=0)


def _shapes_of_ink(grey: Grey, level: int, gap: int) -> tuple[Sides, Sides, Sides]:
    """Closed outlines, shapes with nothing to their left and right, and what larger outlines enclose."""
    _, dark = cv2.threshold(grey, level - 1, 255, cv2.THRESH_BINARY_INV)
    ink = cv2.morphologyEx(dark, cv2.MORPH_CLOSE, np.ones((gap, gap), np.uint8))
    contours, hierarchy = cv2.findContours(ink, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    parents = hierarchy[0, :, 3].tolist() if contours else []
    outer = [contour for contour, parent in zip(contours, parents, strict=True) if parent < 0]
    sides = _bounds(outer)
    solid = np.zeros_like(ink)
    for number in np.flatnonzero(_is_between(sides, 2 * _HIGHEST, 0.0, np.inf)).tolist():
        cv2.drawContours(solid, [outer[number]], 0, 255, -1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_STROKE, _STROKE))
    solid = cv2.morphologyEx(solid, cv2.MORPH_OPEN, disc)
    closed, _ = cv2.findContours(solid, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    inner = _bounds(closed)
    full = np.array([cv2.contourArea(one) for one in closed]) >= _FULL * (inner[:, 2] - 1) * (inner[:, 3] - 1)
    inner = inner[full & _is_between(inner, _HIGHEST, _NARROWEST, _WIDEST)]
    whole = sides[_is_between(sides, _HIGHEST, _NARROWEST, _WIDEST_ALONE)]
    total = np.asarray(cv2.integral(ink // 255), np.int64)
    alone = (_ink_beside(total, inner, 0.25) <= _BESIDE) & _has_corners(total, inner)
    return inner[alone], whole[_ink_beside(total, whole, 0.4) <= _BESIDE_OPEN], _enclosed(contours, parents, total)


def _enclosed(contours: Sequence[NDArray[Any]], parents: Sequence[int], total: NDArray[np.int64]) -> Sides:
    """Rectangles of paper in outlines that are much larger, as boxes are that share a side or touch a line."""
    numbers = [number for number, parent in enumerate(parents) if parent >= 0]
    holes, around = _bounds([contours[one] for one in numbers]), _bounds([contours[parents[one]] for one in numbers])
    areas = np.array([cv2.contourArea(contours[one]) for one in numbers])
    larger = (around[:, 2:] > _MUCH_LARGER * holes[:, 2:]).any(axis=1)
    full = areas >= _RECTANGLE * (holes[:, 2] - 1) * (holes[:, 3] - 1)
    holes = holes[larger & full & _is_between(holes, _HIGHEST, _NARROWEST, _WIDEST)]
    height, width = total.shape
    corners = np.clip(holes[:, :2] - 1, 0, None), np.minimum(holes[:, :2] + holes[:, 2:] + 1, (width - 1, height - 1))
    sides = np.concatenate([corners[0], corners[1] - corners[0]], axis=1)
    return sides[_ink_beside(total, sides, 0.25) <= _BESIDE_ENCLOSED]


def _bounds(contours: Sequence[NDArray[Any]]) -> Sides:
    return np.array([cv2.boundingRect(one) for one in contours], np.int64).reshape(-1, 4)


def _is_between(sides: Sides, highest: int, narrowest: float, widest: float) -> NDArray[np.bool_]:
    _, _, width, height = sides.T
    low = (height >= _LOWEST) & (width >= _LOWEST) & (height <= highest)
    return low & (width >= narrowest * height) & (width <= widest * height)


def _ink_beside(total: NDArray[np.int64], sides: Sides, far: float) -> NDArray[np.float64]:
    """The share of ink in the strip to the left or to the right of shapes, whichever is larger.

    Args:
        total: integral of the ink.
        far: width of a strip as a share of the height.
    """
    x, y, width, height = sides.T
    wide = np.maximum((far * height).astype(np.int64), 2)
    left, right = np.maximum(x - 1, 0), np.minimum(x + width + 1, total.shape[1] - 1)

    def ink(start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
        return total[y + height, end] - total[y + height, start] - total[y, end] + total[y, start]

    before, behind = ink(np.maximum(left - wide, 0), left), ink(right, np.minimum(right + wide, total.shape[1] - 1))
    return np.maximum(before, behind) / (wide * height)


def _has_corners(total: NDArray[np.int64], sides: Sides) -> NDArray[np.bool_]:
    """Whether there is ink in each corner of shapes that are wider than a circle; underlined words have none above."""
    x, y, width, height = sides.T
    size = np.maximum(np.maximum(height // 5, width // 16), 3)
    inked = np.ones(len(sides), np.bool_)
    for left in (x, x + width - size):
        for top in (y, y + height - size):
            right, bottom = left + size, top + size
            inked &= total[bottom, right] - total[bottom, left] - total[top, right] + total[top, left] > 0.2 * size**2
    return inked | (width < _WIDER_THAN_A_CIRCLE * height)


def patches(grey: Grey, sides: Sides) -> Grey:
    """What the network sees of shapes, (shapes, 40, 40, 2)."""
    edge = round(max(AROUND) * _HIGHEST)
    wide = cv2.copyMakeBorder(grey, edge, edge, edge, edge, cv2.BORDER_CONSTANT, value=255)
    found = np.empty((len(sides), PATCH, PATCH, len(AROUND)), np.uint8)
    for number, (x, y, width, height) in enumerate(sides.tolist()):
        for channel, share in enumerate(AROUND):
            around = int(share * height)
            left, top = x + edge - around, y + edge - around
            part = wide[top : top + height + 2 * around, left : left + width + 2 * around]
            found[number, ..., channel] = cv2.resize(part, (PATCH, PATCH), interpolation=cv2.INTER_AREA)
    return found


def probabilities(seen: Grey) -> NDArray[np.float32]:
    """Of no mark, a mark that is off, and one that is on, (shapes, 3)."""
    *convolutions, (weight, bias) = _network()
    found: list[NDArray[np.float32]] = []
    for first in range(0, len(seen), _AT_ONCE):
        states = 1 - seen[first : first + _AT_ONCE] / np.float32(255)
        for kernel, offset in convolutions:
            padded = np.pad(states, ((0, 0), (1, 1), (1, 1), (0, 0)))
            windows = sliding_window_view(padded, (3, 3), (1, 2))[:, ::2, ::2]
            states = np.maximum(windows.reshape(*windows.shape[:3], -1) @ kernel + offset, 0)
        scores = states.reshape(len(states), -1) @ weight + bias
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        found.append(shares / shares.sum(axis=1, keepdims=True))
    return np.concatenate(found)


@cache
def _network() -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Weights and biases of three convolutions by 3 x 3 with steps of 2, and of the last layer."""
    with np.load(NETWORK) as file:
        layers = len(file.files) // 2
        return [
            (file[f"weight{number}"].astype(np.float32), file[f"bias{number}"].astype(np.float32))
            for number in range(layers)
        ]


def _best(sides: Sides, certain: NDArray[np.float32]) -> list[int]:
    """Shapes that are probably marks, without those that cover a more probable one's centre or have theirs in it."""
    kept: list[int] = []
    x, y, width, height = sides.T
    middle, level = x + width / 2, y + height / 2
    free = certain >= _PROBABLE
    for number in np.argsort(-certain, kind="stable").tolist():
        if free[number]:
            kept.append(number)
            apart = (np.abs(middle - middle[number]) * 2 > np.maximum(width, width[number])) | (
                np.abs(level - level[number]) * 2 > np.maximum(height, height[number])
            )
            free &= apart
    return kept


def _has_evidence(size: Sides, certain: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Whether the marks of about the size of each, itself included, make it certain that the page has such marks.

    Args:
        size: width and height, (marks, 2).
    """
    alike = ((size[:, None] <= size * _ALIKE) & (size <= size[:, None] * _ALIKE)).all(axis=2)
    evidence = alike @ -np.log(np.maximum(1 - certain, _SUREST))
    return (evidence >= _EVIDENCE) & (alike & (certain >= _SURE)).any(axis=1)
