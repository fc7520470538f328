"""Precision, recall and F1 of the fields of documents, by the rules of GEval's MultiLabel-F1 and of SROIE's task 3.

Both count the items (`name=value`) that were answered and expected alike, over all documents: of an item that stands several times on
either side, as many as stand on both. They differ in what an item is: Kleister writes values with underscores and compares in upper case
(`geval_items` and `upper`); SROIE (ICDAR 2019, task 3) takes the value as it stands on the receipt (`exact_items`).
GEval's conventions: a precision or recall of nothing is 1, and F1 is 0 where both are.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutray.document import Field

_NOT_IN_ITEMS = re.compile(r"[\s:]+")


@dataclass(frozen=True, slots=True)
class FieldScore:
    """How many items were expected, how many answered, and how many of both are the same."""

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
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def geval_items(fields: Iterable[Field]) -> list[str]:
    """Items as in Kleister's files: blanks and colons of values are underscores."""
    return [f"{field.name}={_NOT_IN_ITEMS.sub('_', field.value.strip())}" for field in fields]


def exact_items(fields: Iterable[Field]) -> list[str]:
    """Items with their values as they are."""
    return [f"{field.name}={field.value}" for field in fields]


def field_f1(
    expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], *, upper: bool = False
) -> dict[str, FieldScore]:
    """Scores by the name of the field (what stands before the first `=` of an item), and under `micro` those of all fields together.

    Args:
        expected, answered: the items of each document.
        upper: compare in upper case.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for wanted, given in _bags(expected, answered, upper):
        for column, bag in enumerate((wanted & given, wanted, given)):
            for item, count in bag.items():
                counts[item.partition("=")[0]][column] += count
    scores = {name: FieldScore(*counts[name]) for name in sorted(counts)}
    return scores | {"micro": FieldScore(*map(sum, zip((0, 0, 0), *counts.values(), strict=True)))}


def mean_f1(expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], *, upper: bool = False) -> float:
    """The mean over documents of each one's F1; 1 without documents. Arguments as of `field_f1`."""
    scores = [
        FieldScore((wanted & given).total(), wanted.total(), given.total()).f1
        for wanted, given in _bags(expected, answered, upper)
    ]
    return sum(scores) / len(scores) if scores else 1.0


def _bags(
    expected: Sequence[Iterable[str]], answered: Sequence[Iterable[str]], upper: bool
) -> Iterable[tuple[Counter[str], Counter[str]]]:
    for wanted, given in zip(expected, answered, strict=True):
        yield Counter(_cased(wanted, upper)), Counter(_cased(given, upper))


def _cased(items: Iterable[str], upper: bool) -> list[str]:
    """The name stays as it is, so that scores have the fields' own names."""
    return [
        "=".join((name, value.upper())) if upper else item for item in items for name, _, value in [item.partition("=")]
    ]
