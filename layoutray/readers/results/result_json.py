"""Shared by readers of JSON results: names of keys, corners of polygons, and spans of a text."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from layoutray.readers.annotation import bounds, malformed, member

Span = tuple[int, int]
"""First position in a text, and the position after the last."""

_LARGEST = 1e12
"""No place on a page has a coordinate of this size; the square of a number near the largest float is infinite."""
_UNDERSCORE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def with_camel_case(owner: dict[str, Any]) -> dict[str, Any]:
    """`owner` with keys as in `textAnchor`; client libraries write them as in `text_anchor`."""
    return {_UNDERSCORE.sub(lambda match: match[1].upper(), key): value for key, value in owner.items()}


def objects(owner: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """`owner[key]`, which must be a list of objects; empty when it is missing."""
    value = owner.get(key)
    values = [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise malformed(where, f"`{key}` is {value!r:.80}, expected a list of objects")
    return values


def object_or_empty(owner: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    """`owner[key]`, which must be an object; empty when it is missing."""
    return {} if owner.get(key) is None else member(owner, key, dict, where)


def number(value: object, key: str, where: str) -> float:
    """The number `value` of `key`."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return float(value)
    raise malformed(where, f"`{key}` is {value!r:.80}, expected a number")


def page_number(page: dict[str, Any], key: str) -> int | None:
    """The number of a page; None if it states none. The position of the page in the result then replaces it."""
    stated = page.get(key)
    return stated if type(stated) is int else None


def corners(polygon: object, key: str, where: str) -> list[float]:
    """The corners x1, y1, x2, y2, … of a polygon, which is a list of these numbers or of objects with `x` and `y`.

    A missing `x` or `y` is 0, because Protocol Buffers leave out zeros.
    """
    if not isinstance(polygon, list) or not polygon:
        raise malformed(where, f"`{key}` is {polygon!r:.80}, expected a list of corners")
    sides = [
        number(side, key, where)
        for point in polygon
        for side in ((point.get("x", 0), point.get("y", 0)) if isinstance(point, dict) else (point,))
    ]
    if len(sides) % 2:
        raise malformed(where, f"`{key}` has {len(sides)} numbers, expected an even number: x and y of each corner")
    return sides


def sides_of(polygon: object, key: str, where: str) -> tuple[float, float, float, float]:
    """The bounding box x0, y0, x1, y1 of a polygon. Arguments as in `corners`."""
    return bounds(corners(polygon, key, where), where)


class TextSpans:
    """Finds which of several spans of a text contains a position. The spans do not overlap."""

    def __init__(self, spans: Iterable[tuple[Span, int]]) -> None:
        self._spans = sorted(spans)

    def at(self, position: int) -> int | None:
        """The number that belongs to the span around `position`; None when there is no such span."""
        index = bisect_right(self._spans, position, key=lambda span: span[0][0]) - 1
        if index < 0 or position >= self._spans[index][0][1]:
            return None
        return self._spans[index][1]
