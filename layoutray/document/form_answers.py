"""Answers from the fields of a fillable PDF file, without a model."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from layoutray.document.answers import Entity, Region
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form, plain
from layoutray.document.page import OFF, ON, FormField, Page

_NOTATIONS = (FieldType(type="amount"), FieldType(type="date"), FieldType(type="date", month_first=True))
_SEPARATORS = re.compile(r"^\((?=\d+\) ?\d)|(?<=\d)[-) ]+(?=\d)")
"""Marks that a viewer puts into a number of digits, such as that of a telephone."""
_CONFIDENCE = 0.5
"""Of a value of which the page shows another one."""


def is_drawn(field: FormField) -> bool:
    """Whether the page shows what a form field states, as the same letters or in another notation of number or date."""
    if field.on is not None or field.drawn is None:
        return field.drawn is None
    if field.kind == "choice":  # a list also shows what is not chosen
        return all(f" {plain(label)} " in f" {plain(field.drawn)} " for label in field.values)
    if _letters(field.value) in (_letters(field.drawn), _letters(_SEPARATORS.sub("", field.drawn))):
        return True
    forms = ((normal_form(field.value, one), normal_form(field.drawn, one)) for one in _NOTATIONS)
    return any(stated and stated == shown for stated, shown in forms)


def values_as_drawn(field: FormField) -> tuple[str, ...]:
    """The values of a form field for which `is_drawn` is true, in the notation that the page shows."""
    if field.kind == "text" and field.drawn and _letters(field.drawn) != _letters(field.value):
        return (field.drawn,)
    return field.values


def form_entities(page: Page, schema: Mapping[str, FieldType]) -> tuple[Entity, ...]:
    """The values that form fields state for the fields of `schema` that name them.

    Empty fields, boxes that are off, and values that are none of the field's type state nothing. A field of type `mark`
    is on if a box or button of that name is on, else off.
    """
    on = {field.name for field in page.form_fields if field.on}
    return tuple(
        Entity(
            type=name,
            content=value,
            confidence=1.0 if is_drawn(field) else _CONFIDENCE,
            bounding_regions=(Region(page.number, field.box.polygon(page.width, page.height)),) if field.box else (),
            words=(),
            form_field=field.name,
            drawn=None if is_drawn(field) else field.drawn,
        )
        for name, kind in schema.items()
        for field in page.form_fields
        if field.name in kind.form_fields
        for value in (_marks(field, on) if kind.type == "mark" else field.values)
        if normal_form(value, kind)
    )


def _marks(field: FormField, on: Collection[str]) -> tuple[str, ...]:
    if field.on is None or (field.name in on and not field.on):
        return ()
    return (ON if field.on else OFF,)


def left_to_model(page: Page, schema: Mapping[str, FieldType]) -> Page:
    """The page as a model reads it: without words if form fields state values of all fields of `schema`."""
    stated = {entity.type for entity in form_entities(page, schema)}
    return replace(page, words=()) if schema and stated == set(schema) else page


def _letters(text: str) -> str:
    return plain(text).replace(" ", "")
