"""Correct, expected and answered items, and their precision, recall and F1."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import NamedTuple


class ItemCounts(NamedTuple):
    """Numbers of items: answered and expected (`correct`), expected, and answered."""

    correct: int
    expected: int
    answered: int

    @property
    def precision(self) -> float:
        """0..1; 1 without answers."""
        return self.correct / self.answered if self.answered else 1.0

    @property
    def recall(self) -> float:
        """0..1; 1 without expected items."""
        return self.correct / self.expected if self.expected else 1.0

    @property
    def f1(self) -> float:
        """0..1; 0 when precision and recall are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def count_items(expected: Iterable[Hashable], answered: Iterable[Hashable]) -> ItemCounts:
    """The counts of one document; an expected item is found by one answered item."""
    expected_bag, answered_bag = Counter(expected), Counter(answered)
    return ItemCounts((expected_bag & answered_bag).total(), expected_bag.total(), answered_bag.total())


def summed(counts: Iterable[ItemCounts]) -> ItemCounts:
    """The counts of all documents together."""
    return ItemCounts(*map(sum, zip((0, 0, 0), *counts, strict=True)))
