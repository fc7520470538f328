"""The fields of a data set, with their types, from the values that its documents have."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from layoutray.document import Document, Field
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import contradictory, normal_form
from layoutray.document.packets import PART
from layoutray.errors import InputError

_FEWEST_FOR_REQUIRED = 5
"""Documents. That all of fewer documents have a value may be chance."""
_SHARE_OF_A_MODEL = 0.8
"""Least share of the values of a field that are of its type if a model stated some: models confuse fields at times."""
_RECORD = "items"
"""Name of the records that values with a row form."""
_DATE = re.compile(r"\d\D+\d|\d{8}|[^\W\d]{3}")
"""What tells a date from a number that could be one."""
_DAY_AND_MONTH = re.compile(r"\D*(\d\d?)[./-](\d\d?)[./-]\d")
"""The two numbers that begin a date in digits, in either order."""
_MONTHS = 12
_CENTS = re.compile(r"[.,]\d\d?\D{0,4}$")
"""What an amount of money ends in, and few other numbers."""


@dataclass(frozen=True, slots=True)
class InferredFields:
    """The fields of a data set.

    Attributes:
        types: of each field, by name.
        documents: number of documents that have a value of the field, by name.
        records: the fields of records, the key first; empty without records.
    """

    types: Mapping[str, FieldType]
    documents: Mapping[str, int]
    records: tuple[str, ...] = ()

    def task(self) -> dict[str, Any]:
        """The sections [task.fields] and [task.records] of a recipe; only what differs from the defaults."""
        default = FieldType()
        fields = {
            name: {"type": one.type}
            | {key: True for key in ("many", "required", "month_first") if getattr(one, key) != getattr(default, key)}
            for name, one in self.types.items()
        }
        return {"fields": fields} | ({"records": {_RECORD: {"fields": [*self.records]}}} if self.records else {})


def infer_fields(documents: Iterable[Document], wanted: Mapping[str, str]) -> InferredFields:
    """The types of fields: `mark`, `date` or `amount` if all values are, else `text`; 4 in 5 if a model stated some.

    A date is `month_first` if some values can only be read so, as 8/23/2015, and none only the other way. A field is
    `many` if a document has several values, and `required` if all documents have one, but for those of which only some
    values are known.

    Args:
        wanted: the type of each wanted field by its name, empty to infer it; without any, all fields are wanted.

    Raises:
        InputError: if no document has values, or none has a value of a wanted field.
    """
    labelled = [document for document in documents if document.fields]
    values: dict[str, list[Field]] = defaultdict(list)
    having = Counter[str]()
    for document in labelled:
        having.update({field.name for field in document.fields})
        for field in document.fields:
            values[field.name].append(field)
    whole = [document for document in labelled if not document.partial]
    if not values:
        raise InputError("no document has a value; give the values of each document, or label and finish some")
    if PART in values:
        raise InputError(
            "the values say which documents the files hold, not what the documents say; train a model of their pages "
            "with `layoutray finetune finetune-pages`, see docs/packets.md"
        )
    if unknown := [name for name in wanted if name not in values]:
        raise InputError(
            f"no document has a value of {', '.join(unknown)}; the fields are {', '.join(values)}; correct --fields"
        )
    share = _SHARE_OF_A_MODEL if any(document.from_model for document in labelled) else 1.0
    types: dict[str, FieldType] = {}
    for name in wanted or values:
        texts = [one.value for one in values[name]]
        kind = FieldType(type=wanted.get(name) or type_of(texts, share))  # pyright: ignore[reportArgumentType]
        many = any(
            contradictory([one for one in document.fields if one.name == name], {name: kind}) for document in labelled
        )
        everywhere = len(whole) >= _FEWEST_FOR_REQUIRED and all(
            any(field.name == name for field in document.fields) for document in whole
        )
        types[name] = replace(
            kind,
            many=many,
            required=everywhere and not many,
            month_first=kind.type == "date" and _month_first(texts),
        )
    in_rows = [name for name in types if all(field.row is not None for field in values[name])]
    return InferredFields(types, having, tuple(sorted(in_rows, key=lambda name: -len(values[name]))))


def type_of(values: Sequence[str], share: float) -> str:
    """`mark`, `signature`, `date` or `amount` if at least this share of the values of a field are one, else `text`."""
    least = share * len(values)
    for kind in ("mark", "signature"):
        if sum(bool(normal_form(value, FieldType(type=kind))) for value in values) >= least:
            return kind
    if sum(bool(_DATE.search(value) and normal_form(value, FieldType(type="date"))) for value in values) >= least:
        return "date"
    amounts = [value for value in values if normal_form(value, FieldType(type="amount"))]
    return "amount" if len(amounts) >= least and any(map(_CENTS.search, amounts)) else "text"


def _month_first(dates: Sequence[str]) -> bool:
    """Whether some dates in digits can only be read with the month first, and none only with the day first."""
    starts = [(int(match[1]), int(match[2])) for match in map(_DAY_AND_MONTH.match, dates) if match]
    return any(second > _MONTHS for _, second in starts) and all(first <= _MONTHS for first, _ in starts)
