"""Fields as a person asks for them: names with commas, each with a type after a colon, or without one.

A name without a type has that of the kind of values on generated pages whose wording is most like it, in any of the
languages of `layoutray.synthetic.wordings`: `Rechnungsdatum` is a date, `total incl. VAT` an amount.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from layoutray.document.field_type import FieldType
from layoutray.errors import InputError
from layoutray.synthetic.wordings import wordings

_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z][a-z])")
_MOST = 64
"""Fields of one question."""
_LEAST_ALIKE = 0.5
"""Share of the words of a name and a wording that they have in common."""
_AMOUNT, _DATE = FieldType(type="amount"), FieldType(type="date")
_NAME, _ADDRESS, _TEXT = FieldType(type="name"), FieldType(type="address"), FieldType()
_TYPES = {
    **dict.fromkeys(("company", "bank", "name", "clerk"), _NAME),
    **dict.fromkeys(("address", "customer_address", "delivery_address"), _ADDRESS),
    **dict.fromkeys(("date", "due_date", "delivery_date", "order_date"), _DATE),
    **dict.fromkeys(("subtotal", "tax", "discount", "shipping", "rounding", "paid", "change"), _AMOUNT),
    "total": replace(_AMOUNT, is_sum=True),
}
"""Types of the kinds of values on generated pages; all others are texts."""


def asked_fields(text: str) -> dict[str, FieldType]:
    """The fields that `text` asks for, such as `vendor, date, total:amount`, by name.

    They are `required`: who asks for a field expects it, and sees from a low confidence that it may be absent.

    Raises:
        InputError: for no name, too many, a name without a letter or digit, one with a semicolon or a line break, one
            that is there twice, and an unknown type.
    """
    fields: dict[str, FieldType] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, colon, kind = (side.strip() for side in part.partition(":"))
        if re.search(r"[;\n]", name):
            raise InputError(f"the field {name!r} looks like several; put commas between names")
        if name in fields:
            raise InputError(f"the field {name!r} is there twice; name each field once")
        fields[name] = replace(_of_type(name, kind) if colon else type_of(name), required=True)
    check_names(fields)
    return fields


def check_names(fields: Mapping[str, FieldType]) -> None:
    """Raise InputError for no field, too many, and a name or description without a letter or digit."""
    if not 1 <= len(fields) <= _MOST:
        raise InputError(f"{len(fields)} fields are named; name 1 to {_MOST}, for example `vendor, date, total`")
    for name, field in fields.items():
        if not name_words(field.description or name):
            raise InputError(f"the field {name!r} has no letter or digit; name it as a page would, for example `total`")


def name_words(name: str) -> list[str]:
    """The words of a name in lower case: `due_date`, `dueDate` and `Due date:` have the same."""
    return _BETWEEN_WORDS.sub(" ", name).lower().split()


def type_of(name: str) -> FieldType:
    """The type of a field, from its name."""
    words = frozenset(name_words(name))
    shares = [(len(words & other) / len(words | other), kind) for other, kind in _kinds()]
    alike, kind = max(shares, key=lambda share: share[0])  # the first kind of several
    return _TYPES.get(kind, _TEXT) if alike >= _LEAST_ALIKE else _TEXT


@cache
def _kinds() -> tuple[tuple[frozenset[str], str], ...]:
    return tuple(
        (frozenset(name_words(text)), kind)
        for kind, languages in wordings().items()
        for texts in ([kind], *languages.values())
        for text in texts
    )


def _of_type(name: str, kind: str) -> FieldType:
    known = ("text", "name", "address", "date", "amount", "term", "mark", "signature")
    if kind not in known:
        raise InputError(f"the field {name!r} has the type {kind!r}; a type is one of {', '.join(known)}")
    guessed = type_of(name)
    return guessed if guessed.type == kind else FieldType(type=kind)  # pyright: ignore[reportArgumentType]
