"""Blocks: words of one label that lie together on a page."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from layoutray.document.geometry import Box
from layoutray.document.page import Page
from layoutray.document.tags import kind_of

_DOUBLE_SPACED = 1.5
"""Gap between two lines, over the height of the higher one, up to which they are one block."""

Line = tuple[int, ...]


def blocks(page: Page) -> list[tuple[str, tuple[int, ...]]]:
    """Label and words of each block, each word in one: connected words of a label, or the page's own blocks where it has no labels.

    The label of words without one is empty.
    """
    if all(word.tag is None for word in page.words):
        own = _grouped(range(len(page.words)), [word.block for word in page.words])
        return [("", words) for words in own]
    labels = [kind_of(word.tag or "") for word in page.words]
    return [
        (labels[words[0]], block) for words in _grouped(range(len(labels)), labels) for block in connected(page, words)
    ]


def connected(page: Page, words: Iterable[int]) -> list[tuple[int, ...]]:
    """The words of `page` with these numbers, in groups: each holds whole lines that stand close above each other."""
    boxes = {line: box_of(page, line) for line in _grouped(words, [word.line for word in page.words])}
    found: list[list[Line]] = []
    for line, box in boxes.items():
        near = [group for group in found if any(_adjoin(box, boxes[other]) for other in group)]
        found = [group for group in found if group not in near] + [[*chain.from_iterable(near), line]]
    return sorted(tuple(sorted(chain.from_iterable(group))) for group in found)


def box_of(page: Page, words: Iterable[int]) -> Box:
    """The smallest box that holds the words with these numbers (at least one)."""
    return Box.around(page.words[word].box for word in words)


def _grouped(words: Iterable[int], keys: Sequence[object]) -> list[tuple[int, ...]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for word in words:
        groups[keys[word]].append(word)
    return [tuple(group) for group in groups.values()]


def _adjoin(one: Box, other: Box) -> bool:
    beside = min(one.x1, other.x1) <= max(one.x0, other.x0)
    gap = max(one.y0, other.y0) - min(one.y1, other.y1)
    return not beside and gap <= _DOUBLE_SPACED * max(one.y1 - one.y0, other.y1 - other.y0)
