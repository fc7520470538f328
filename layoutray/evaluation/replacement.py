"""Whether a version of a model may replace another: paired comparison of both on the same labelled documents.

The items that are compared are the fields of documents if the present version answers fields, else the entities of
pages. Resamples draw documents with replacement; both versions get the same draws (see `layoutray.metrics.bootstrap`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from layoutray.checkpoint import Checkpoint
from layoutray.errors import InputError
from layoutray.evaluation.measurement import items_by_document
from layoutray.evaluation.page_selection import PageSelection
from layoutray.metrics.bootstrap import Interval, f1
from layoutray.metrics.item_counts import ItemCounts, count_by_name, summed
from layoutray.tasks import document_fields_of

CONFIDENCE = 0.95
_FEWEST = 5
"""Documents. Of fewer, all may be equally good by chance: 0.5 to the power of 5 is the first below 5 %."""

_CountsByName = Mapping[str, ItemCounts]
"""The counts of one document, by the name of a field or the type of an entity."""
_CountsOfBoth = tuple[_CountsByName, _CountsByName]
"""Those of the champion and of the candidate."""


@dataclass(frozen=True, slots=True)
class ComparedF1:
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
class Replacement:
    """Two versions on the same documents, by all items and by each field or type that a document has."""

    documents: int
    overall: ComparedF1
    by_name: Mapping[str, ComparedF1]

    def objections(self, margin: float) -> list[str]:
        """Why the candidate must not replace the champion; empty if it may.

        The documents must show that its F1 of all items is lower by less than `margin`: the interval of the difference
        begins above -`margin`. They must not show that it is worse at any field; the probability that they seem to
        show this of any field, although no field is worse, is at most 5 % (Bonferroni). Resamples of few documents, or
        of none that is answered, are all alike and show nothing.
        """
        if self.documents < _FEWEST:
            return [f"{self.documents} labelled documents show nothing; give at least {_FEWEST}"]
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
        if not objections and not self.overall.candidate:
            objections.append(
                f"the candidate finds no value in {self.documents} documents: its F1 is 0; train it longer"
            )
        return objections


def compare(champion: Checkpoint, candidate: Checkpoint, selection: PageSelection) -> Replacement:
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
    items, theirs = items_by_document(champion, selection), items_by_document(candidate, selection)
    documents: list[_CountsOfBoth] = []
    for doc_id, (wanted, answered) in items.items():
        # Values are in the normal forms of the champion's fields; other fields of the candidate are ignored.
        others = [one for one in theirs[doc_id][1] if not schema or one[0] in schema]
        documents.append((count_by_name(wanted, answered), count_by_name(wanted, others)))
    every = {name for both in documents for counts in both for name in counts}
    expected = sorted({name for counts, _ in documents for name, (_, number, _) in counts.items() if number})

    def compared(chosen: Collection[str]) -> ComparedF1:
        """F1 of the items of the `chosen` names together."""
        counts = [[summed(counts[name] for name in chosen if name in counts) for counts in both] for both in documents]
        of_both = np.array(counts)
        before, after = f1(of_both[None, :, 0]), f1(of_both[None, :, 1])
        difference = after.minus(before)
        drawn = difference.resampled[~np.isnan(difference.resampled)]
        return ComparedF1(before.value, after.value, difference.interval, float((drawn >= 0).mean()))

    return Replacement(len(documents), compared(every), {name: compared([name]) for name in expected})


def _shown(difference: Interval) -> str:
    return f"difference {difference.value:+.3f} (95 % interval {difference.low:+.3f} to {difference.high:+.3f})"
