"""Regions of words on a page."""

from collections import defaultdict
from collections.abc import Iterable

from layoutray.document import Box, Page, Word
from layoutray.document.answers import Region


def regions_of(page: Page, words: Iterable[Word]) -> tuple[Region, ...]:
    """One region for each line of text that has some of `words`, in the order of their first words."""
    lines: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        lines[word.line].append(word)
    return tuple(
        Region(page.number, Box.around(word.box for word in line).polygon(page.width, page.height))
        for line in lines.values()
    )


def reading_confidence(words: Iterable[Word]) -> float:
    """The lowest confidence that the OCR engine has stated for one of `words`; 1 if it has stated none."""
    return min((word.confidence for word in words if word.confidence is not None), default=1.0)
