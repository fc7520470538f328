"""Ranges of document ids, so that many tables sorted by document can be merged range by range.

Ids are SHA-256 in hexadecimal, so ranges of equal width have about equally many documents.
"""

import pyarrow.compute as pc

_DIGITS = 8
"""Hexadecimal digits of an id that decide its range."""


def id_ranges(count: int) -> list[tuple[str, str]]:
    """The bounds of `count` ranges, in order. Every id is in one of them: an empty bound is below or above all ids."""
    bounds = [format(16**_DIGITS * number // count, f"0{_DIGITS}x") for number in range(1, count)]
    return list(zip(["", *bounds], [*bounds, ""], strict=True))


def in_range(first: str, end: str) -> pc.Expression:
    """Whether column `doc_id` is in a range of `id_ranges`."""
    above = pc.field("doc_id") >= first
    return above & (pc.field("doc_id") < end) if end else above
