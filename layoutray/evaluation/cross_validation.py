"""Cross-validation: each document is answered by a model that was not trained on it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np
import pydantic

from layoutray import checkpoint
from layoutray.evaluation.evaluate import FieldEvaluation, evaluate, evaluation_of_fields
from layoutray.evaluation.fields import AnsweredDocument, Schema, answered_fields, normal_fields
from layoutray.evaluation.measurement import Measurement
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.bootstrap import f1
from layoutray.metrics.item_counts import count_items
from layoutray.prepare.whole_documents import read_documents
from layoutray.store import shards, sources
from layoutray.store.data_set import DataSet
from layoutray.tasks import document_fields_of

ANSWERS = "answers.json"
"""File with the answers of a model to the documents that it was not trained on, in the folder of its checkpoint."""
_ANSWERED = pydantic.TypeAdapter(list[AnsweredDocument])


def cross_validate(schema: Schema, folders: Sequence[str], held_out: Mapping[str, Collection[str]]) -> FieldEvaluation:
    """The answers of several models to the documents that each was not trained on, judged together.

    The folder of each model keeps its answers, so that another call does not need its weights.

    Args:
        schema: the fields of all models.
        folders: data sets, whose documents are all in split train.
        held_out: ids of the documents that each model answers, by the folder of its checkpoint.
    """
    documents = [_kept_answers(folders, model, frozenset(doc_ids)) for model, doc_ids in held_out.items()]
    return evaluation_of_fields(schema, [*chain.from_iterable(documents)])


def measurement_of(fields: FieldEvaluation) -> Measurement:
    """The F1 of all fields, with the counts of each document."""
    counts = {
        str(number): count_items(
            ((one.name, one.value) for one in normal_fields(document.expected, fields.schema)),
            ((one.name, one.value) for one in answered_fields(document.answers, fields.schema)),
        )
        for number, document in enumerate(fields.documents)
    }
    return Measurement("field_f1", "max", f1(np.array([[*counts.values()]])).value, counts)


def _kept_answers(folders: Sequence[str], model: str, doc_ids: frozenset[str]) -> Sequence[AnsweredDocument]:
    file = sources.join(model, ANSWERS)
    if not sources.exists(file):
        shards.write_bytes(_ANSWERED.dump_json([*_answered(folders, model, doc_ids)]), model, ANSWERS)
    return _ANSWERED.validate_json(sources.read_bytes(file))


def _answered(folders: Sequence[str], model: str, doc_ids: frozenset[str]) -> Sequence[AnsweredDocument]:
    """The answers of a model to those of the documents that have a value of its fields."""
    loaded = checkpoint.load(model)
    schema = document_fields_of(loaded.recipe.task)
    documents = list(read_documents([*map(DataSet, folders)]))
    whole = [one for one in documents if one.doc_id in doc_ids and not one.partial]
    if not any(field.name in schema for one in whole for field in one.fields):
        return ()
    others = frozenset(one.doc_id for one in documents) - doc_ids
    fields = evaluate(loaded, PageSelection(tuple(folders), "train", others, "others")).fields
    return fields.documents if fields else ()
