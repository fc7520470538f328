"""Precision, recall and F1 of the fields of documents, by the rules of GEval's MultiLabel-F1 and of SROIE's task 3.

Both rules count the items (`name=value`) that are answered and expected, over all documents; a repeated item counts as
often as it is in both. Their items differ: Kleister replaces blanks in values by underscores and compares in upper case
(`geval_items` and `upper`); SROIE (ICDAR 2019, task 3) takes the value as the receipt writes it (`exact_items`).
GEval's conventions: precision without answers and recall without expected items are 1; F1 is 0 when both are 0.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutray.document import Field

_NOT_IN_ITEMS = re.compile(r"[\s:]+")


@dataclass(frozen=True, slots=True)
class FieldScore:
    """Numbers of items: answered and expected (`correct`), expected, and answered."""

    correct: int
    expected: int
    answered: int

    @property
    def precision(self) -> float:
        """0..1."""
        return self.correct / self.answered if self.answered else 1.0

    @property
    def recall(self) -> float:
        """0..1."""
        return self.correct / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """0..1."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def geval_items(fields: Iterable[Field]) -> list[str]:
    """Items as in Kleister's files: runs of blanks and colons in values are underscores."""
    return [f"{field.name}={_NOT_IN_ITEMS.sub('_', field.value.strip())}" for field in fields]


def exact_items(fields: Iterable[Field]) -> list[str]:
    """Items with unchanged values."""
    return [f"{field.name}={field.value}" for field in fields]


def field_f1(
    expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], *, upper: bool = False
) -> dict[str, FieldScore]:
    """Scores by field name (the part of an item before its first `=`), and under `micro` the score of all fields.

    Args:
        expected, answered: the items of each document.
        upper: compare in upper case.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for expected_bag, answered_bag in _bags(expected, answered, upper):
        for column, bag in enumerate((expected_bag & answered_bag, expected_bag, answered_bag)):
            for item, count in bag.items():
                counts[item.partition("=")[0]][column] += count
    scores = {name: FieldScore(*counts[name]) for name in sorted(counts)}
    return scores | {"micro": FieldScore(*map(sum, zip((0, 0, 0), *counts.values(), strict=True)))}


def mean_f1(expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], *, upper: bool = False) -> float:
    """The mean over documents of the document's F1; 1 without documents. The arguments are those of `field_f1`."""
    scores = [
        FieldScore((expected_bag & answered_bag).total(), expected_bag.total(), answered_bag.total()).f1
        for expected_bag, answered_bag in _bags(expected, answered, upper)
    ]
    return sum(scores) / len(scores) if scores else 1.0


def _bags(
    expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], upper: bool
) -> Iterable[tuple[Counter[str], Counter[str]]]:
    for expected_items, answered_items in zip(expected, answered, strict=True):
        yield Counter(_cased(expected_items, upper)), Counter(_cased(answered_items, upper))


def _cased(items: Iterable[str], upper: bool) -> list[str]:
    """Items, with values in upper case when `upper` is set; names are unchanged because they name the scores."""
    return [
        "=".join((name, value.upper())) if upper else item for item in items for name, _, value in [item.partition("=")]
    ]
