"""Correct, expected and answered items, from which F1 is computed."""

from collections import Counter
from collections.abc import Hashable, Iterable

ItemCounts = tuple[int, int, int]
"""Numbers of correct, expected and answered items."""


def count_items(expected: Iterable[Hashable], answered: Iterable[Hashable]) -> ItemCounts:
    """The counts of one document; an expected item is found by one answered item."""
    expected_bag, answered_bag = Counter(expected), Counter(answered)
    return (expected_bag & answered_bag).total(), expected_bag.total(), answered_bag.total()
