"""From the entities of a document to the values of its fields (LAMBERT, arXiv:2002.08087, version 1, section 4: inference).

Entities of a type that have the same normal form are one value, whose score is the sum of their confidences: what a document repeats
weighs more. Entities without a normal form are no value of their type and are left out, as are values whose score is below the field's
`min_score`: the paper answers the best value of a type, and does not say how many of a type that may have several.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from layoutray.answers import Entity, FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form


def field_answers(entities: Iterable[Entity], schema: Mapping[str, FieldType]) -> tuple[FieldAnswer, ...]:
    """The values of a document's fields, in the order of `schema`: the best one, or all from the best on where a field may have many.

    Args:
        entities: of all pages of the document, in order; types that `schema` does not name are passed over.
        schema: the type of each field, by its name.
    """
    same: dict[str, dict[str, list[Entity]]] = {name: defaultdict(list) for name in schema}
    for entity in entities:
        field = schema.get(entity.type)
        form = field and normal_form(entity.content, field)
        if form:
            same[entity.type][form].append(entity)
    answers: list[FieldAnswer] = []
    for name, values in same.items():
        stated = (_answer(value, found) for value, found in values.items())
        ranked = sorted(
            (one for one in stated if one.score >= schema[name].min_score), key=lambda answer: -answer.score
        )
        answers += ranked if schema[name].many else ranked[:1]
    return tuple(answers)


def _answer(value: str, entities: list[Entity]) -> FieldAnswer:
    surest = max(entities, key=lambda entity: entity.confidence)
    score = math.fsum(entity.confidence for entity in entities)
    return FieldAnswer(surest.type, value, surest.content, surest.confidence, score, surest.bounding_regions)
