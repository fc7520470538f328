"""Reads the files of known values that fields name."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import DocumentError, InputError
from layoutray.store import sources

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
