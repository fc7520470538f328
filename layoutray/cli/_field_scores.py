"""How well a checkpoint answers the fields of whole documents, by the rules of GEval and of SROIE."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow.compute as pc

from layoutray import tasks
from layoutray.answers import Entity, FieldAnswer
from layoutray.checkpoint import Checkpoint
from layoutray.document import Field
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.errors import InputError
from layoutray.generation import TextGenerator
from layoutray.inference import Extractor
from layoutray.metrics.calibration import best_threshold
from layoutray.metrics.field_f1 import exact_items, field_f1, geval_items
from layoutray.prepare.whole_documents import documents_of, documents_together
from layoutray.store import codec, shards, sources
from layoutray.store.schema import PAGES
from layoutray.tasks import Writes
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.generate_fields import written_fields
from layoutray.training import world

Pair = tuple[Sequence[Field], Sequence[FieldAnswer]]
"""The expected and the answered fields of a document."""


def field_pairs(loaded: Checkpoint, folders: Sequence[str], rows: pc.Expression, beams: int) -> list[Pair]:
    """Of each document among the `rows` that `ingest` has written to `folders`; those whose pages all failed are answered with nothing.

    None where the recipe of the checkpoint names no fields.

    Args:
        beams: of a model that writes its answers.

    Raises:
        InputError: when no document has a value of these fields: no answers would then be perfect ones.
    """
    schema = loaded.recipe.task.fields
    if not schema:
        return []
    inside = [sources.join(folder, "pages") for folder in folders]
    expected = {document.doc_id: document.fields for document in documents_of(inside, rows)}
    stated = {field.name for fields in expected.values() for field in fields}
    if not stated & schema.keys():
        raise InputError(
            f"no document of {', '.join(folders)} that is measured has a value of the checkpoint's fields {', '.join(schema)}; "
            f"those there are {', '.join(sorted(stated)) or 'none'}; take a set that states them"
        )
    if isinstance(tasks.load(loaded.recipe.task.name), Writes):
        answered = _written(loaded, inside, list(expected), beams)
    else:
        answered = {doc_id: field_answers(found, schema) for doc_id, found in _entities(loaded, inside, rows).items()}
    # Documents without any value are such as nobody has labelled.
    return [(_wanted(fields, schema), answered.get(doc_id, ())) for doc_id, fields in expected.items() if fields]


def scores_of(pairs: Sequence[Pair], schema: Mapping[str, FieldType]) -> dict[str, float]:
    """What the answers are worth.

    Returns:
        `field_f1`, `field_precision`, `field_recall` of normal forms, also of each field (`field_f1.total`); `geval_f1` of normal forms
        against the values as they were written (Kleister's score), and `exact_f1` of the words on the page against them (SROIE's);
        of each field of many values `best_min_score.party`, the `min_score` with which its F1 would be highest on these documents.
    """
    values = [[Field(one.name, one.value) for one in answers] for _, answers in pairs]
    contents = [[Field(one.name, one.content) for one in answers] for _, answers in pairs]
    truths = [fields for fields, _ in pairs]
    forms = [normal_fields(fields, schema) for fields in truths]
    scores: dict[str, float] = {}
    for name, score in field_f1([*map(exact_items, forms)], [*map(exact_items, values)]).items():
        suffix = "" if name == "micro" else f".{name}"
        scores |= {
            f"field_precision{suffix}": score.precision,
            f"field_recall{suffix}": score.recall,
            f"field_f1{suffix}": score.f1,
        }
    scores["geval_f1"] = field_f1([*map(geval_items, truths)], [*map(geval_items, values)], upper=True)["micro"].f1
    scores["exact_f1"] = field_f1([*map(exact_items, truths)], [*map(exact_items, contents)])["micro"].f1
    for name in (name for name, field in schema.items() if field.many):
        answers, right = judged(pairs, schema, [name])
        expected = sum(field.name == name for fields in truths for field in fields)
        scores[f"best_min_score.{name}"] = best_threshold(
            np.array([one.score for one in answers]), np.array(right, np.bool_), expected
        )
    return scores


def judged(
    pairs: Sequence[Pair], schema: Mapping[str, FieldType], names: Collection[str]
) -> tuple[list[FieldAnswer], list[bool]]:
    """The answers to the fields `names`, and of each whether its value is one of those that were expected."""
    found = [
        (answer, Field(answer.name, answer.value) in expected)
        for expected, answers in ((normal_fields(fields, schema), answers) for fields, answers in pairs)
        for answer in answers
        if answer.name in names
    ]
    return [answer for answer, _ in found], [right for _, right in found]


def normal_fields(fields: Sequence[Field], schema: Mapping[str, FieldType]) -> list[Field]:
    """Expected fields with the normal forms of their values; values that have none stay as they are."""
    return [Field(one.name, normal_form(one.value, schema[one.name]) or one.value) for one in fields]


def _wanted(fields: Sequence[Field], schema: Mapping[str, FieldType]) -> list[Field]:
    return [field for field in fields if field.name in schema]


def _written(
    loaded: Checkpoint, folders: Sequence[str], doc_ids: Sequence[str], beams: int
) -> dict[str, tuple[FieldAnswer, ...]]:
    generator = TextGenerator(loaded, world.single_process().device, beams)
    return {
        document.doc_id: written_fields(text.lines, pages, generator.fields)
        for some in documents_together(folders, doc_ids)
        for (document, pages), text in zip(some, generator.write([pages for _, pages in some]), strict=True)
    }


def _entities(loaded: Checkpoint, folders: Sequence[str], rows: pc.Expression) -> dict[str, list[Entity]]:
    """Entities of each document that has pages, from its first page on."""
    extractor = Extractor(loaded, loaded.recipe.name, world.single_process().device)
    found: dict[str, dict[int, tuple[Entity, ...]]] = defaultdict(dict)
    for folder in folders:
        for table in shards.scan(folder, PAGES, filter=rows):
            pages = list(codec.pages_of(table))
            for page, entities in zip(pages, extractor.extract(pages), strict=True):
                found[page.doc_id][page.number] = entities
    return {
        doc_id: [entity for number in sorted(by_page) for entity in by_page[number]]
        for doc_id, by_page in found.items()
    }
