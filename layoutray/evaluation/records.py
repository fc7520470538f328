"""Scores the records that the entities of a page form against those of its annotation."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from layoutray.answers import Entity, Record
from layoutray.document import Page
from layoutray.document.record_type import RecordType
from layoutray.evaluation.page_selection import PageSelection, page_tables
from layoutray.metrics.field_f1 import FieldScore
from layoutray.metrics.record_f1 import Fields, record_f1, record_field_f1, ungrouped_field_f1
from layoutray.metrics.tree_edit import Nested, tree_accuracy
from layoutray.store import codec
from layoutray.tasks import TagsWords
from layoutray.tasks.records import find_records, true_records


@dataclass(frozen=True, slots=True)
class RecordScores:
    """Scores of records, values compared as they are on the page.

    Attributes:
        whole: of records; a record is correct if all its fields and values are.
        fields: of fields in the record that they belong to.
        ungrouped: of the same fields, whatever their records.
        tree_accuracy: mean over pages of the accuracy by tree edit distance, of records and all other entities.
    """

    whole: FieldScore
    fields: FieldScore
    ungrouped: FieldScore
    tree_accuracy: float

    def metrics(self) -> dict[str, float]:
        """By the names of reports: `record_f1`, `record_field_f1`, `record_ungrouped_f1`, `tree_edit_accuracy`, …"""
        return {
            "record_precision": self.whole.precision,
            "record_recall": self.whole.recall,
            "record_f1": self.whole.f1,
            "record_support": float(self.whole.expected),
            "record_field_f1": self.fields.f1,
            "record_ungrouped_f1": self.ungrouped.f1,
            "tree_edit_accuracy": self.tree_accuracy,
        }


def pages_with_groups(selection: PageSelection) -> list[Page]:
    """The selected pages whose annotation states which words form a record."""
    rows = selection.rows & pc.field("groups").is_valid()
    return [page for table in page_tables(selection.folders, rows) for page in codec.pages_of(table)]


def score_records(
    pages: Sequence[Page],
    task: TagsWords,
    schema: Mapping[str, RecordType],
    entities: Callable[[Sequence[Page]], Sequence[Sequence[Entity]]],
) -> RecordScores | None:
    """The scores of `pages`; None without pages, and when none of them has a true record.

    Args:
        task: that of the model.
        schema: types of the records, by name.
        entities: of each page, see `Predictions.entities`.
    """
    expected: list[Sequence[Record]] = []
    answered: list[Sequence[Record]] = []
    accuracies: list[float] = []
    for page, found in zip(pages, entities(pages), strict=True):
        truth = task.entities_from_tags(page, [word.tag for word in page.words], [1.0] * len(page.words))
        expected.append(true_records(page, truth, schema))
        answered.append(find_records(page, found, schema))
        accuracies.append(tree_accuracy(_nested(truth, expected[-1], schema), _nested(found, answered[-1], schema)))
    if not any(expected):
        return None
    plain = [[_fields(record) for record in records] for records in expected]
    given = [[_fields(record) for record in records] for records in answered]
    return RecordScores(
        record_f1(plain, given),
        record_field_f1(plain, given),
        ungrouped_field_f1(plain, given),
        float(np.mean(accuracies)),
    )


def _fields(record: Record) -> Fields:
    return [(entity.type, entity.content) for entity in record.fields]


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
