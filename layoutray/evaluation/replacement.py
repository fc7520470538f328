"""Whether a version of a model may replace another: paired comparison of both on the same labelled documents.

The items that are compared are the fields of documents if the present version answers fields, else the entities of
pages. Resamples draw documents with replacement; both versions get the same draws (see `layoutray.metrics.bootstrap`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutray.checkpoint import Checkpoint
from layoutray.document import Field
from layoutray.errors import InputError
from layoutray.evaluation.capabilities import word_tagger
from layoutray.evaluation.document_counts import EntityItem, entity_items
from layoutray.evaluation.evaluate import evaluate
from layoutray.evaluation.fields import AnsweredDocument, normal_fields
from layoutray.evaluation.page_selection import PageSelection
from layoutray.inference.extractor import Extractor
from layoutray.metrics.bootstrap import Estimate, Interval, f1
from layoutray.metrics.field_f1 import exact_items
from layoutray.metrics.item_counts import ItemCounts, count_items
from layoutray.tasks import document_fields_of
from layoutray.training import world

CONFIDENCE = 0.95

_NO_ITEMS: ItemCounts = 0, 0, 0
_CountsByName = Mapping[str, ItemCounts]
"""The counts of one document, by the name of a field or the type of an entity."""
_CountsOfBoth = tuple[_CountsByName, _CountsByName]
"""Those of the champion and of the candidate."""


@dataclass(frozen=True, slots=True)
class Compared:
    """F1 of both versions, for one field or type, or for all of them.

    Attributes:
        difference: F1 of the candidate less F1 of the champion, with its 95 % interval.
        chance_not_worse: share of the resamples in which the candidate is at least as good.
    """

    champion: float
    candidate: float
    difference: Interval
    chance_not_worse: float


@dataclass(frozen=True)
class Comparison:
    """Two versions on the same documents.

    Attributes:
        overall: of all items.
        by_name: of each field or type that a document has.
    """

    documents: int
    overall: Compared
    by_name: Mapping[str, Compared]

    def objections(self, margin: float) -> list[str]:
        """Why the candidate must not replace the champion; empty if it may.

        The documents must show that its F1 of all items is lower by less than `margin`: the interval of the difference
        begins above -`margin`. They must not show that it is worse at any field; the probability that they seem to
        show this of any field, although no field is worse, is at most 5 % (Bonferroni).
        """
        objections = [
            f"{name} is worse: F1 {one.candidate:.3f} after {one.champion:.3f}, {_shown(one.difference)}"
            for name, one in self.by_name.items()
            if one.chance_not_worse < (1 - CONFIDENCE) / len(self.by_name)
        ]
        if self.overall.difference.low < -margin:
            objections.insert(
                0,
                f"{self.documents} documents do not show that F1 of all items falls by less than {margin:g}: "
                f"{self.overall.candidate:.3f} after {self.overall.champion:.3f}, {_shown(self.overall.difference)}; "
                "label more documents, or give a larger --margin",
            )
        return objections


def compare(champion: Checkpoint, candidate: Checkpoint, selection: PageSelection) -> Comparison:
    """Compare two versions on the labelled documents of `selection`, at what the champion answers.

    Raises:
        InputError: when no selected document is labelled, the champion answers neither fields nor entities, or the
            candidate has another kind of answers.
    """
    schema = document_fields_of(champion.recipe.task)
    if bool(schema) != bool(document_fields_of(candidate.recipe.task)):
        raise InputError(
            f"the champion {'answers' if schema else 'does not answer'} fields, unlike the candidate; "
            "measure each with `layoutray evaluate`"
        )
    documents = (_of_fields if schema else _of_entities)(champion, candidate, selection)
    every = {name for both in documents for counts in both for name in counts}
    expected = sorted({name for counts, _ in documents for name, (_, number, _) in counts.items() if number})

    def compared(chosen: Collection[str]) -> Compared:
        """F1 of the items of the `chosen` names together."""
        summed = np.array([[_sum(counts, chosen) for counts in both] for both in documents])
        return _compared(f1(summed[None, :, 0]), f1(summed[None, :, 1]))

    return Comparison(len(documents), compared(every), {name: compared([name]) for name in expected})


def _compared(before: Estimate, after: Estimate) -> Compared:
    difference = after.minus(before)
    drawn = difference.resampled[~np.isnan(difference.resampled)]
    return Compared(before.value, after.value, difference.interval, float((drawn >= 0).mean()))


def _sum(counts: _CountsByName, names: Iterable[str]) -> ItemCounts:
    of_names = [counts.get(name, _NO_ITEMS) for name in names]
    correct, expected, answered = map(sum, zip(*of_names, strict=True))
    return correct, expected, answered


def _of_fields(champion: Checkpoint, candidate: Checkpoint, selection: PageSelection) -> list[_CountsOfBoth]:
    """Values are compared in the normal forms of the champion's fields; other fields of the candidate are ignored."""
    before, after = evaluate(champion, selection).fields, evaluate(candidate, selection).fields
    assert before is not None
    assert after is not None
    schema = before.schema

    def counts(expected: Sequence[Field], document: AnsweredDocument) -> _CountsByName:
        answers = [Field(answer.name, answer.value) for answer in document.answers if answer.name in schema]
        return {
            name: count_items(exact_items(_of(name, expected)), exact_items(_of(name, answers)))
            for name in {field.name for field in (*expected, *answers)}
        }

    return [
        (counts(expected, one), counts(expected, other))
        for one, other in zip(before.documents, after.documents, strict=True)
        for expected in [normal_fields(one.expected, schema)]
    ]


def _of(name: str, fields: Iterable[Field]) -> list[Field]:
    return [field for field in fields if field.name == name]


def _of_entities(champion: Checkpoint, candidate: Checkpoint, selection: PageSelection) -> list[_CountsOfBoth]:
    before, after = _count_entities(champion, selection), _count_entities(candidate, selection)
    return [(counts, after[doc_id]) for doc_id, counts in before.items()]


def _count_entities(loaded: Checkpoint, selection: PageSelection) -> dict[str, _CountsByName]:
    """By document id."""
    extractor = Extractor(loaded, loaded.recipe.name, world.single_process().device)
    items = entity_items(selection, word_tagger(loaded), extractor.extract)
    return {doc_id: _by_type(expected, answered) for doc_id, (expected, answered) in items.items()}


def _by_type(expected: Sequence[EntityItem], answered: Sequence[EntityItem]) -> _CountsByName:
    return {
        name: count_items(
            [item for item in expected if item.type == name], [item for item in answered if item.type == name]
        )
        for name in {item.type for item in (*expected, *answered)}
    }


def _shown(difference: Interval) -> str:
    return f"difference {difference.value:+.3f} (95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
