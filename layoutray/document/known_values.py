"""Values that the owner of the documents knows, e.g. the names of all vendors: a misread value becomes the known one.

A known value is taken if it is similar to the value that was read, has the same digits but for one, and is clearly more
similar than all others. The limits were chosen on the training receipts of SROIE (docs/results/ocr.md).
"""

import functools
from dataclasses import dataclass

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form

_NEAR = 85.0
"""Least similarity, in percent: 100 minus the inserted and deleted characters as a share of both texts."""
_CLEAR = 5.0
"""Least distance in percent from the next known value. Without it, names of one trade become each other."""
_DIGITS = 1
"""Most digits that may be inserted, deleted or replaced. Houses in one street differ by little else."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A known value.

    Attributes:
        value: its normal form.
        content: as the owner writes it.
    """

    value: str
    content: str


def nearest(value: str, field: FieldType) -> KnownValue | None:
    """The known value of `field` that the normal form `value` means; None if none is near, or two are."""
    contents = _contents(field)
    if value in contents:
        return KnownValue(value, contents[value])
    found = process.extract(value, contents.keys(), scorer=fuzz.ratio, limit=2, score_cutoff=_NEAR - _CLEAR)
    if not found:
        return None
    near, similarity, _ = found[0]
    next_similarity = found[1][1] if len(found) > 1 else 0.0
    same_digits = Levenshtein.distance(_digits(value), _digits(near)) <= _DIGITS
    if similarity < _NEAR or similarity - next_similarity < _CLEAR or not same_digits:
        return None
    return KnownValue(near, contents[near])


@functools.lru_cache(maxsize=64)
def _contents(field: FieldType) -> dict[str, str]:
    """The known values by their normal forms; of equal ones, the first."""
    contents: dict[str, str] = {}
    for content in field.known_values:
        if form := normal_form(content, field):
            contents.setdefault(form, content)
    return contents


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
