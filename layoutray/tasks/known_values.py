"""Values that the owner of the documents knows, e.g. the names of all vendors: a misread value becomes the known one.

A known value is taken if it is similar to the value that was read, has the same digits but for one, and is clearly more
similar than all others. The limits were chosen on the training receipts of SROIE (docs/results/ocr.md).
"""

import csv
import functools
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import DocumentError, InputError
from layoutray.store import sources

_NEAR = 85.0
"""Least similarity, in percent: 100 minus the inserted and deleted characters as a share of both texts."""
_CLEAR = 5.0
"""Least distance in percent from the next known value. Without it, names of one trade become each other."""
_DIGITS = 1
"""Most digits that may be inserted, deleted or replaced. Houses in one street differ by little else."""
_MOST = 100_000
"""Rows. The values are a part of each checkpoint, and are compared with each answer."""
_TYPES = ("text", "name", "address")


def with_known_values(fields: Mapping[str, FieldType]) -> dict[str, FieldType]:
    """The fields with the content of the files that they name as `known`. Values that are there already stay.

    The value is the first cell of each row; empty rows are skipped. The file has no heading.

    Raises:
        InputError: for a file that cannot be read, is not UTF-8, has no values or too many; for a value that is none of
            the field's type; for a field of another type than text, name and address. It names the field, file and row.
    """
    return {
        name: replace(field, known_values=_read(name, field)) if field.known and not field.known_values else field
        for name, field in fields.items()
    }


def _read(name: str, field: FieldType) -> tuple[str, ...]:
    key = f"task.fields.{name}.known"
    if field.type not in _TYPES:
        raise InputError(f"{key} is {field.known!r}, but the type is {field.type}; it must be {', '.join(_TYPES)}")
    try:
        text = sources.read_bytes(field.known).decode("utf-8-sig")
    except (DocumentError, UnicodeDecodeError) as error:
        raise InputError(f"{key}: {field.known} cannot be read as a CSV file in UTF-8: {error}") from error
    try:
        rows = {number: row[0].strip() for number, row in enumerate(csv.reader(io.StringIO(text)), 1) if row}
    except csv.Error as error:
        raise InputError(f"{key}: {field.known} is not CSV: {error}") from error
    values = {number: value for number, value in rows.items() if value}
    if not 1 <= len(values) <= _MOST:
        raise InputError(f"{key}: {field.known} has {len(values)} values; it must have 1 to {_MOST}, one in each row")
    for number, value in values.items():
        if not normal_form(value, field):
            raise InputError(f"{key}: row {number} of {field.known} is {value!r}, which has no letter or digit")
    return tuple(dict.fromkeys(values.values()))


@dataclass(frozen=True, slots=True)
class KnownValue:
    """The normal form of a known value, and its content as the owner writes it."""

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
