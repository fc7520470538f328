"""Reading order: rows from top to bottom, and in a row from left to right."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_SAME_ROW = 0.5
"""Least overlap of two lines' vertical extents in one row, as a share of the lower one."""
_NEW_BLOCK = 1.5
"""A gap between two rows of this many median line heights begins a new block."""


def rows_and_blocks(lines: NDArray[np.float64]) -> tuple[list[list[int]], list[int]]:
    """The numbers of the lines of each row, in reading order, on a page that may be skewed; the block of each row.

    Args:
        lines: corners (lines, 4, 2), clockwise from each line's top left.
    """
    if not len(lines):
        return [], []
    level = _levelled(lines)
    tops, bottoms = level[..., 1].min(axis=1), level[..., 1].max(axis=1)
    lefts = level[..., 0].min(axis=1)
    rows: list[list[int]] = []
    for number in np.argsort((tops + bottoms) / 2, kind="stable").tolist():
        row = next((row for row in rows[::-1][:3] if _overlap(row, number, tops, bottoms) >= _SAME_ROW), None)
        if row is None:
            rows.append([number])
        else:
            row.append(number)
    least = _NEW_BLOCK * float(np.median(bottoms - tops))
    gaps = [float(tops[below].min() - bottoms[above].max()) for above, below in pairwise(rows)]
    blocks = [0, *np.cumsum([gap >= least for gap in gaps]).tolist()]
    return [sorted(row, key=lambda number: float(lefts[number])) for row in rows], blocks


def _levelled(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners after a rotation that makes the text horizontal: by the median angle of the longer half of lines."""
    direction = lines[:, 1] - lines[:, 0]
    lengths = np.linalg.norm(direction, axis=1)
    longer = direction[lengths >= np.median(lengths)]
    angle = float(np.median(np.arctan2(longer[:, 1], longer[:, 0])))
    cosine, sine = np.cos(-angle), np.sin(-angle)
    return lines @ np.array([[cosine, -sine], [sine, cosine]]).T


def _overlap(row: Sequence[int], number: int, tops: NDArray[np.float64], bottoms: NDArray[np.float64]) -> float:
    """Vertical overlap of a line with the lines of a row, mean over them; of each as a share of the lower line."""
    lines = list(row)
    shared = np.minimum(bottoms[lines], bottoms[number]) - np.maximum(tops[lines], tops[number])
    lower = np.minimum(bottoms[lines] - tops[lines], bottoms[number] - tops[number])
    return float(np.mean(shared / np.maximum(lower, 1e-6)))
