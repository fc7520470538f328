"""The part of a text that is a value. OCR joins words, so that a date can stand inside `Date:14/02/20185:37:44PM`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import MONTHS, normal_form

_MONTH = f"(?:{'|'.join(sorted(' '.join(MONTHS).split(), key=len, reverse=True))})"
_DAY, _YEAR = r"[0-3]?\d", r"(?:19|20)\d\d"
# A year of two digits ends the digits, or a time follows it.
_SHORT_YEAR = r"\d\d(?=\D|$|[012]?\d:\d\d)"
_DATES = tuple(
    re.compile(rf"(?<!\d){pattern}", re.I)
    for pattern in (
        rf"{_YEAR}\s?([-/.])\s?\d?\d\s?\1\s?(?:[0-2]\d|3[01]|\d)",
        rf"{_DAY}\s?([-/.])\s?\d?\d\s?\1\s?{_YEAR}",
        rf"{_DAY}\s?([-/.])\s?\d?\d\s?\1\s?{_SHORT_YEAR}",
        rf"{_DAY}(?:st|nd|rd|th)?[\s\-/.,]*{_MONTH}[\s\-/.,'’]*(?:{_YEAR}|{_SHORT_YEAR})",
        rf"{_MONTH}[\s\-/.,]*{_DAY}(?:st|nd|rd|th)?[\s\-/.,]*{_YEAR}",
    )
)
# A number with two decimals or with groups of three digits, which is no part of a date, a time or a percentage.
_AMOUNTS = (
    re.compile(
        r"(?<!\d)(?<!\d[.,/:-])[-(]?(?:\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d\d)?|\d+[.,]\d\d)"
        r"(?![.,/:-]?\d|\s*%)(?:-(?!\d)|\))?"
    ),
)
_PATTERNS = {"date": _DATES, "amount": _AMOUNTS}


@dataclass(frozen=True, slots=True)
class ValuePart:
    """A value inside a text: its normal form, its first character, and the one after its last."""

    form: str
    start: int
    end: int


def value_part(text: str, field: FieldType) -> ValuePart | None:
    """The value that `text` states; None when it states none.

    It is the whole text when that has a normal form, or the part that states a date or an amount, if all such parts
    state the same one. A date is searched first: the rest of a text, such as a time, can change how it is parsed.
    """
    whole = normal_form(text, field)
    if whole is not None and field.type != "date":
        return ValuePart(whole, 0, len(text))
    parts = list(value_parts(text, field))
    if len({part.form for part in parts}) == 1:
        return parts[0]
    return None if whole is None else ValuePart(whole, 0, len(text))


def value_parts(text: str, field: FieldType) -> Iterator[ValuePart]:
    """All dates or amounts that stand in `text`; nothing for other types."""
    for pattern in _PATTERNS.get(field.type, ()):
        for match in pattern.finditer(text):
            if form := normal_form(match[0], field):
                yield ValuePart(form, *match.span())
