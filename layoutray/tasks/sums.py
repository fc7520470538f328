"""Which entities of fields with `is_sum`, such as totals, are the sum of the rows above them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from layoutray.document import Page
from layoutray.document.answers import Entity
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.row_sums import row_sums


def with_sums(page: Page, entities: Iterable[Entity], schema: Mapping[str, FieldType]) -> tuple[Entity, ...]:
    """The entities of a page, those of fields with `is_sum` with their `sum_of_rows`."""
    entities = tuple(entities)
    amounts = {name: field for name, field in schema.items() if field.is_sum}
    sums = row_sums(page) if any(entity.type in amounts for entity in entities) else None
    if not sums:
        return entities
    return tuple(
        replace(entity, sum_of_rows=normal_form(entity.content, amounts[entity.type]) in sums)
        if entity.type in amounts
        else entity
        for entity in entities
    )
