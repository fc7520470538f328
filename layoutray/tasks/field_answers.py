"""From the entities of a document to the values of its fields.

Source: LAMBERT, arXiv:2002.08087, version 1, section 4 (inference). Entities of one type with the same normal form are
one value. Its score is the sum of their confidences, so that a repeated value scores higher. Entities without a normal
form are left out, and so are values whose score is below the field's `min_score`. The paper answers the best value of a
type; it does not say how to answer a type that may have several values, nor which of several notations of a value to
show (`12`, `12.00`): here the one with the highest sum of confidences. The content of a field with `upper_case` is in
upper case. Entities that are near the same known value of a field (`layoutray.tasks.known_values`) are one value.

The confidence of an answer knows its letters and its rivals. An entity states the true value if its label is right and
its letters are; the latter has the probability of the engine's reading, and 1 for a known value. The answer is right if
one of its entities is: 1 - Π (1 - label · letters), as if they were independent. If a field has one value, this is
multiplied by the answer's share of its score and the next one's.

docs/fields.md explains sums (`layoutray.document.row_sums`), which change scores and confidences by rules that were
chosen on training receipts of SROIE (docs/results/ocr.md). `layoutray.document.second_look` may change the confidence
at the end. What a form field of a fillable PDF file states is a value, whatever a model has found.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from layoutray.document.answers import Entity, FieldAnswer
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form, value_in_answers
from layoutray.document.second_look import looked
from layoutray.errors import InputError
from layoutray.tasks.known_values import KnownValue, nearest

_FACTOR_OF_SUMS = 5.0


def field_answers(entities: Iterable[Entity], schema: Mapping[str, FieldType]) -> tuple[FieldAnswer, ...]:
    """The values of a document's fields, in the order of `schema`; several values of a field by falling score.

    Args:
        entities: of all pages of the document, in order; types that `schema` does not name are ignored.
    """
    found = list(entities)
    in_forms = {entity.type for entity in found if entity.form_field}
    entities_of: dict[str, dict[KnownValue, list[Entity]]] = {name: defaultdict(list) for name in schema}
    for entity in found:
        if entity.type in in_forms and not entity.form_field:
            continue
        field = schema.get(entity.type)
        if field and (form := normal_form(entity.content, field)):
            # The content of a value that is not a known one is empty.
            value = (nearest(form, field) if field.known_values else None) or KnownValue(form, "")
            entities_of[entity.type][value].append(entity)
    answers: list[FieldAnswer] = []
    for name, values in entities_of.items():
        candidates = (_answer(value, same, schema[name]) for value, same in values.items())
        ranked = sorted(
            (one for one in candidates if one.form_field or one.score >= schema[name].min_score),
            key=lambda answer: -answer.score,
        )
        if not schema[name].many:
            if len(ranked) > 1 and ranked[1].score:  # less confident, as the next value has a score too
                first, second = ranked[:2]
                share = first.score / (first.score + second.score)
                ranked[0] = replace(first, confidence=first.confidence * share)
            ranked = ranked[:1]
        answers += [replace(one, confidence=looked(one, schema[name])) for one in ranked]
    return tuple(replace(answer, accepted=_accepted(answer, schema[answer.name])) for answer in answers)


def check_fields(fields: Mapping[str, FieldType]) -> None:
    """Raise InputError for a field of [task.fields] whose name, `min_score` or `is_sum` is not allowed."""
    if not all(name.strip() and "=" not in name for name in fields):
        raise InputError(f"task.fields names {', '.join(map(repr, fields))}; a name must not be empty or contain =")
    for name, field in fields.items():
        if not 0 <= field.min_score < math.inf:
            raise InputError(f"task.fields.{name}.min_score is {field.min_score}; it must be a number of at least 0")
        if field.is_sum and field.type != "amount":
            raise InputError(
                f"task.fields.{name} has is_sum and the type {field.type!r}; only an 'amount' can be a sum"
            )


def _accepted(answer: FieldAnswer, field: FieldType) -> bool:
    return answer.confidence == 1 if answer.form_field else field.accepts(answer.confidence)


def _answer(value: KnownValue, entities: list[Entity], field: FieldType) -> FieldAnswer:
    scores: dict[str, float] = defaultdict(float)
    for entity in entities:
        scores[entity.content] += entity.confidence
    content = max(scores, key=scores.__getitem__)
    best = min if entities[0].form_field else max  # one place of a form that shows another value is enough for a look
    shown = best((entity for entity in entities if entity.content == content), key=lambda entity: entity.confidence)
    right = 1 - math.prod(
        1 - entity.confidence * (1.0 if value.content else entity.reading_confidence) for entity in entities
    )
    stated = [entity.sum_of_rows for entity in entities if entity.sum_of_rows is not None]
    factor = (_FACTOR_OF_SUMS if any(stated) else 1 / _FACTOR_OF_SUMS) if stated else 1.0
    printed = None if value.content else value_in_answers(content, field)
    return FieldAnswer(
        name=shown.type,
        value=printed or value.value,
        content=content.upper() if field.upper_case else content,
        confidence=shown.confidence if shown.form_field else right / (right + (1 - right) / factor),
        score=math.fsum(entity.confidence for entity in entities) * factor,
        bounding_regions=shown.bounding_regions,
        known_value=value.content or None,
        form_field=shown.form_field,
        drawn=shown.drawn,
        reading_confidence=1.0 if value.content else min(entity.reading_confidence for entity in entities),
        near_amount=any(entity.near_amount for entity in entities),
    )
