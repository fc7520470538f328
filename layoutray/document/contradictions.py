"""Values of a document that contradict each other."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.page import Field


def contradictory(fields: Iterable[Field], schema: Mapping[str, FieldType]) -> tuple[Field, ...]:
    """The values of fields without `many` that have several values with different normal forms.

    Values of records are not compared. Values of fields that are not in `schema` are ignored.
    """
    forms: dict[str, dict[Field, str]] = defaultdict(dict)
    for field in fields:
        if field.row is None and field.name in schema and not schema[field.name].many:
            forms[field.name][field] = normal_form(field.value, schema[field.name]) or field.value
    return tuple(field for of_field in forms.values() if len({*of_field.values()}) > 1 for field in of_field)
