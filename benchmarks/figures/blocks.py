"""Blocks: adjacent words of a page with the same label."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from layoutray.document.geometry import Box
from layoutray.document.page import Page
from layoutray.document.tags import kind_of

_DOUBLE_SPACED = 1.5
"""Largest gap between two lines of one block, as a multiple of the taller line's height."""

Line = tuple[int, ...]


def blocks(page: Page) -> list[tuple[str, tuple[int, ...]]]:
    """Label and word indices of each block. Each word is in one block.

    A block holds connected words with the same label. On a page without labels, the blocks are those of the OCR engine
    or annotation. The label of unlabelled words is the empty string.
    """
    if all(word.tag is None for word in page.words):
        groups = _grouped(range(len(page.words)), [word.block for word in page.words])
        return [("", words) for words in groups]
    labels = [kind_of(word.tag or "") for word in page.words]
    return [
        (labels[words[0]], block) for words in _grouped(range(len(labels)), labels) for block in connected(page, words)
    ]


def connected(page: Page, words: Iterable[int]) -> list[tuple[int, ...]]:
    """The word indices `words`, grouped so that each group holds lines that are close below each other."""
    boxes = {line: box_of(page, line) for line in _grouped(words, [word.line for word in page.words])}
    groups: list[list[Line]] = []
    for line, box in boxes.items():
        adjacent = [group for group in groups if any(_adjacent(box, boxes[other]) for other in group)]
        groups = [group for group in groups if group not in adjacent] + [[*chain.from_iterable(adjacent), line]]
    return sorted(tuple(sorted(chain.from_iterable(group))) for group in groups)


def box_of(page: Page, words: Iterable[int]) -> Box:
    """The smallest box around the words with these indices (at least one)."""
    return Box.around(page.words[word].box for word in words)


def _grouped(words: Iterable[int], keys: Sequence[object]) -> list[tuple[int, ...]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for word in words:
        groups[keys[word]].append(word)
    return [tuple(group) for group in groups.values()]


def _adjacent(one: Box, other: Box) -> bool:
    side_by_side = min(one.x1, other.x1) <= max(one.x0, other.x0)
    gap = max(one.y0, other.y0) - min(one.y1, other.y1)
    return not side_by_side and gap <= _DOUBLE_SPACED * max(one.y1 - one.y0, other.y1 - other.y0)
