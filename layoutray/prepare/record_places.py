"""Choose which occurrence of a value on the pages is that of its record.

The values of a line item are short and repeat: a count of 1 is on most rows. The values of one record stand near each
other, so the value of a record with the fewest occurrences is placed first, where the others are nearest by height, and
then each of the others at its nearest occurrence. Heights are those of a levelled page. Equal values on one line, such
as a unit price and a price, are placed from left to right in the order in which the record gives them. Records are
placed in the order of their numbers, from the top of the first page on; an occurrence belongs to one value only.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from layoutray.document import Field, Page
from layoutray.document.rows import slope_of_lines

Span = tuple[int, int]
"""First word of a value on its page, and the word after its last."""

_SAME_LINE = 0.5
"""Largest distance of the middles of two words on one line, as a share of the lower one's height."""

Place = tuple[int, Span]
"""Index of a page, and the words on it."""


def record_places(found: Mapping[Field, Sequence[Sequence[Span]]], pages: Sequence[Page]) -> dict[Field, Place]:
    """The place of each value of a record; values are left out for which no occurrence is left.

    Args:
        found: spans of each value on each page. All values have a `row`.
        pages: of one document, in order.
    """
    slopes = [slope_of_lines(page) if found else 0.0 for page in pages]
    free = {field: _occurrences(spans, pages, slopes) for field, spans in found.items()}
    rows: dict[int, list[Field]] = defaultdict(list)
    for field in found:
        rows[field.row or 0].append(field)
    taken: set[tuple[int, int]] = set()
    places: dict[Field, Place] = {}
    for row in sorted(rows):
        for field, occurrence in _placed({field: free[field] for field in rows[row]}, taken).items():
            places[field] = occurrence.page, occurrence.span
    return places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Occurrence:
    """Where a value may stand.

    Attributes:
        middle: of its first word on the levelled page, in pixels from the top.
        height, left: of its first word, in pixels.
    """

    page: int
    span: Span
    middle: float
    height: float
    left: float

    @property
    def words(self) -> set[tuple[int, int]]:
        return {(self.page, word) for word in range(*self.span)}

    def distance(self, other: "_Occurrence") -> float:
        """Pixels from line to line; 0 on one line."""
        if self.page != other.page:
            return float("inf")
        distance = abs(self.middle - other.middle)
        return distance if distance > _SAME_LINE * min(self.height, other.height) else 0.0


def _occurrences(
    of_pages: Sequence[Sequence[Span]], pages: Sequence[Page], slopes: Sequence[float]
) -> list[_Occurrence]:
    occurrences: list[_Occurrence] = []
    for number, (page, slope, spans) in enumerate(zip(pages, slopes, of_pages, strict=True)):
        for span in sorted(spans):
            x0, y0, x1, y1 = page.words[span[0]].box.to_pixels(page.width, page.height)
            occurrences.append(
                _Occurrence(page=number, span=span, middle=(y0 + y1 - slope * (x0 + x1)) / 2, height=y1 - y0, left=x0)
            )
    return occurrences


def _nearest(occurrences: Sequence[_Occurrence], anchor: _Occurrence) -> _Occurrence:
    """The leftmost occurrence on the line that is nearest to `anchor`."""
    nearest = min(occurrences, key=anchor.distance)
    return min((one for one in occurrences if not nearest.distance(one)), key=lambda one: one.left)


def _placed(values: Mapping[Field, Sequence[_Occurrence]], taken: set[tuple[int, int]]) -> dict[Field, _Occurrence]:
    """The occurrences of the values of one record; their words are added to `taken`."""
    free = {field: [one for one in occurrences if taken.isdisjoint(one.words)] for field, occurrences in values.items()}
    ordered = sorted((field for field in free if free[field]), key=lambda field: len(free[field]))
    if not ordered:
        return {}
    first, *others = ordered
    anchor = min(free[first], key=lambda one: sum(min(map(one.distance, free[other])) for other in others))
    placed: dict[Field, _Occurrence] = {}
    for field in ordered:
        left = [one for one in free[field] if taken.isdisjoint(one.words)]
        if left:
            placed[field] = anchor if field == first else _nearest(left, anchor)
            taken |= placed[field].words
    return placed
