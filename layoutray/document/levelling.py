"""How far the text of a photographed page is skewed."""

from itertools import pairwise

import numpy as np

from layoutray.document.page import Page


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
