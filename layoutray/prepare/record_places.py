"""Choose which occurrence of a value on the pages is that of its record.

The values of a line item are short and repeat: a count of 1 is on most rows. The values of one record stand near each
other, so the value of a record with the fewest occurrences is placed first, where the others are nearest by height, and
then each of the others at its nearest occurrence. Heights are those of a levelled page. Equal values on one line, such
as a unit price and a price, are placed from left to right in the order in which the record gives them. Records are
placed in the order of their numbers, from the top of the first page on; an occurrence belongs to one value only.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from layoutray.document import Field, Page
from layoutray.document.rows import Placed, place, slope_of_lines

Span = tuple[int, int]
"""First word of a value on its page, and the word after its last."""

_SAME_LINE = 0.5
"""Largest distance of the middles of two words on one line, as a share of the lower one's height."""

Place = tuple[int, Span]
"""Index of a page, and the words on it."""
_Occurrence = Placed[Place]
"""Where a value may stand. Its position on the page is that of its first word."""


def record_places(found: Mapping[Field, Sequence[Sequence[Span]]], pages: Sequence[Page]) -> dict[Field, Place]:
    """The place of each value of a record; values are left out for which no occurrence is left.

    Args:
        found: spans of each value on each page. All values have a `row`.
    """
    slopes = [slope_of_lines(page) if found else 0.0 for page in pages]
    free = {
        field: [
            place((number, span), page, [span[0]], slope)
            for number, (page, slope, spans) in enumerate(zip(pages, slopes, of_pages, strict=True))
            for span in sorted(spans)
        ]
        for field, of_pages in found.items()
    }
    rows: dict[int, list[Field]] = defaultdict(list)
    for field in found:
        rows[field.row or 0].append(field)
    taken: set[tuple[int, int]] = set()
    places: dict[Field, Place] = {}
    for row in sorted(rows):
        for field, occurrence in _placed({field: free[field] for field in rows[row]}, taken).items():
            places[field] = occurrence.item
    return places


def _words(one: _Occurrence) -> set[tuple[int, int]]:
    """Page and number of its words."""
    page, span = one.item
    return {(page, word) for word in range(*span)}


def _distance(one: _Occurrence, other: _Occurrence) -> float:
    """Pixels from line to line; 0 on one line."""
    if one.item[0] != other.item[0]:
        return float("inf")
    distance = abs(one.middle - other.middle)
    return distance if distance > _SAME_LINE * min(one.height, other.height) else 0.0


def _nearest(occurrences: Sequence[_Occurrence], anchor: _Occurrence) -> _Occurrence:
    """The leftmost occurrence on the line that is nearest to `anchor`."""
    nearest = min(occurrences, key=partial(_distance, anchor))
    return min((one for one in occurrences if not _distance(nearest, one)), key=lambda one: one.left)


def _placed(values: Mapping[Field, Sequence[_Occurrence]], taken: set[tuple[int, int]]) -> dict[Field, _Occurrence]:
    """The occurrences of the values of one record; their words are added to `taken`."""
    free = {field: [one for one in found if taken.isdisjoint(_words(one))] for field, found in values.items()}
    ordered = sorted((field for field in free if free[field]), key=lambda field: len(free[field]))
    if not ordered:
        return {}
    first, *others = ordered
    anchor = min(free[first], key=lambda one: sum(min(map(partial(_distance, one), free[other])) for other in others))
    placed: dict[Field, _Occurrence] = {}
    for field in ordered:
        left = [one for one in free[field] if taken.isdisjoint(_words(one))]
        if left:
            placed[field] = anchor if field == first else _nearest(left, anchor)
            taken |= _words(placed[field])
    return placed
