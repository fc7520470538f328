"""Scores the records that the entities of a document form against those of its annotation."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Self

import numpy as np
import pyarrow.compute as pc

from layoutray.document import Field, Page
from layoutray.document.answers import Entity, Record
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.record_type import RecordType
from layoutray.evaluation.capabilities import word_tagger
from layoutray.evaluation.page_selection import PageSelection
from layoutray.evaluation.predictions import Predictions
from layoutray.metrics.item_counts import named_shares
from layoutray.metrics.record_f1 import Fields, record_f1, record_field_f1, ungrouped_field_f1
from layoutray.metrics.tree_edit import Nested, tree_accuracy
from layoutray.tasks import TagsWords, Task, fields_of, records_of
from layoutray.tasks.record_columns import with_columns
from layoutray.tasks.records import find_records, true_records


@dataclass(frozen=True, slots=True)
class RecordTruth:
    """The true records of selected pages: of the groups of annotated words, or of the values of documents.

    Attributes:
        pages: those whose annotation states which words form a record.
        documents: by document, and by name and row, the values of each record.
    """

    pages: Sequence[Page] = ()
    documents: Mapping[str, Mapping[tuple[str, int], Sequence[Field]]] = field(
        default_factory=dict[str, Mapping[tuple[str, int], Sequence[Field]]]
    )

    @classmethod
    def of(cls, task: Task, selection: PageSelection) -> Self:
        """The records that a model of `task` should find; none if it answers none."""
        schema = records_of(task)
        if not schema:
            return cls()
        if fields_of(task):
            owners = {kind: name for name, record_type in schema.items() for kind in record_type.fields}
            documents: dict[str, dict[tuple[str, int], list[Field]]] = defaultdict(lambda: defaultdict(list))
            for document in selection.documents():
                for value in document.fields if not document.partial else ():
                    if value.row is not None and value.name in owners:
                        documents[document.doc_id][owners[value.name], value.row].append(value)
            return cls(documents=documents)
        return cls([*selection.pages(pc.field("groups").is_valid())])

    def score(self, predictions: Predictions, selection: PageSelection) -> dict[str, float]:
        if self.documents:
            task = predictions.loaded.recipe.task
            answered: dict[str, Sequence[Record]] = dict.fromkeys(self.documents, ())
            read = [page for pages in selection.pages_of(answered) for page in pages]
            for pages, found in _by_document(read, predictions.entities(read)):
                schema = records_of(task)
                answered[pages[0].doc_id] = find_records(pages, with_columns(pages, found, schema), schema)
            return score_documents(self.documents, answered, fields_of(task))
        if self.pages:
            task = word_tagger(predictions.loaded)
            return score_records(self.pages, task, records_of(task), predictions.entities)
        return {}


def record_metrics(expected: Sequence[Sequence[Fields]], answered: Sequence[Sequence[Fields]]) -> dict[str, float]:
    """The scores of the records of each page or document, by the names of reports.

    A whole record is correct if all its fields and values are. `record_field_f1` is of fields in the record that they
    belong to, `record_ungrouped_f1` of the same fields, whatever their records. Values are compared as they are on the
    page, or by their normal forms with values as truth.
    """
    whole = record_f1(expected, answered)
    return {
        **whole.metrics("record_"),
        "record_support": float(whole.expected),
        **named_shares(
            {
                "record_field_f1": record_field_f1(expected, answered).f1,
                "record_ungrouped_f1": ungrouped_field_f1(expected, answered).f1,
            }
        ),
    }


def score_records(
    pages: Sequence[Page],
    task: TagsWords,
    schema: Mapping[str, RecordType],
    entities: Callable[[Sequence[Page]], Sequence[Sequence[Entity]]],
) -> dict[str, float]:
    """The metrics of documents by their `pages`, whose words have groups; none when none of them has a true record.

    `tree_edit_accuracy` is the mean over documents of the accuracy by tree edit distance, of records and other
    entities.

    Args:
        task: that of the model.
        schema: types of the records, by name.
        entities: of each page, see `Predictions.entities`.
    """
    expected: list[Sequence[Record]] = []
    answered: list[Sequence[Record]] = []
    accuracies: list[float] = []
    for of_document, found in _by_document(pages, entities(pages)):
        truth = [
            task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
            for page in of_document
        ]
        expected.append(true_records(of_document, truth, schema))
        in_columns = with_columns(of_document, found, schema)
        answered.append(find_records(of_document, in_columns, schema))
        nested_truth = _nested(chain.from_iterable(truth), expected[-1], schema)
        accuracies.append(tree_accuracy(nested_truth, _nested(chain.from_iterable(in_columns), answered[-1], schema)))
    if not any(expected):
        return {}
    plain, given = (
        [[[(entity.type, entity.content) for entity in record.fields] for record in records] for records in of_pages]
        for of_pages in (expected, answered)
    )
    return record_metrics(plain, given) | {"tree_edit_accuracy": float(np.mean(accuracies))}


def score_documents(
    expected: Mapping[str, Mapping[tuple[str, int], Sequence[Field]]],
    answered: Mapping[str, Sequence[Record]],
    types: Mapping[str, FieldType],
) -> dict[str, float]:
    """The metrics of documents by the normal forms of their values.

    Args:
        expected: see `RecordTruth.documents`.
        answered: the records of the same documents.
        types: of the fields that records may have.
    """

    def form(name: str, text: str) -> tuple[str, str]:
        return name, normal_form(text, types[name]) or text

    return record_metrics(
        [
            [[form(value.name, value.value) for value in record] for record in records.values()]
            for records in expected.values()
        ],
        [
            [[form(one.type, one.content) for one in record.fields] for record in answered[doc_id]]
            for doc_id in expected
        ],
    )


def _by_document(
    pages: Iterable[Page], entities: Iterable[Sequence[Entity]]
) -> Iterator[tuple[list[Page], list[Sequence[Entity]]]]:
    """The pages of each document, in order, and the entities of each."""
    ordered = sorted(zip(pages, entities, strict=True), key=lambda one: (one[0].doc_id, one[0].number))
    for _, group in groupby(ordered, key=lambda one: one[0].doc_id):
        of_document = list(group)
        yield [page for page, _ in of_document], [found for _, found in of_document]


def _nested(entities: Iterable[Entity], records: Iterable[Record], schema: Mapping[str, RecordType]) -> Nested:
    """Records by name, and the contents of all other entities by type; the type `total.price` is `price` in `total`."""
    grouped: dict[str, list[Nested]] = defaultdict(list)
    for record in records:
        grouped[record.name].append(_by_type(record.fields))
    in_records = {kind for record_type in schema.values() for kind in record_type.fields}
    others = _by_type(entity for entity in entities if entity.type not in in_records)
    inside: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for kind, contents in others.items():
        group, _, name = kind.rpartition(".")
        inside[group][name] = contents
    top = inside.pop("", {})
    return {**top, **{group: [values] for group, values in inside.items()}, **grouped}


def _by_type(entities: Iterable[Entity]) -> dict[str, list[str]]:
    contents: dict[str, list[str]] = defaultdict(list)
    for entity in entities:
        contents[entity.type].append(entity.content)
    return contents
