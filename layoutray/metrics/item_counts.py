"""Correct, expected and answered items, and their precision, recall and F1."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class ItemCounts(NamedTuple):
    """Numbers of items: answered and expected (`correct`), expected, and answered."""

    correct: int
    expected: int
    answered: int

    @property
    def precision(self) -> float | None:
        """0..1; None without answers."""
        return self.correct / self.answered if self.answered else None

    @property
    def recall(self) -> float | None:
        """0..1; None without expected items."""
        return self.correct / self.expected if self.expected else None

    @property
    def f1(self) -> float | None:
        """0..1; None without any item."""
        items = self.expected + self.answered
        return 2 * self.correct / items if items else None

    def metrics(self, prefix: str = "", suffix: str = "") -> dict[str, float]:
        """By the names of reports: precision, recall and F1, each if it has a value."""
        return named_shares({"precision": self.precision, "recall": self.recall, "f1": self.f1}, prefix, suffix)


def named_shares(shares: Mapping[str, float | None], prefix: str = "", suffix: str = "") -> dict[str, float]:
    """The shares that have a value, with longer names."""
    return {f"{prefix}{name}{suffix}": share for name, share in shares.items() if share is not None}


def count_items(expected: Iterable[Hashable], answered: Iterable[Hashable]) -> ItemCounts:
    """The counts of one document; an expected item is found by one answered item."""
    expected_bag, answered_bag = Counter(expected), Counter(answered)
    return ItemCounts((expected_bag & answered_bag).total(), expected_bag.total(), answered_bag.total())


def count_by_name(expected: Sequence[tuple[Any, ...]], answered: Sequence[tuple[Any, ...]]) -> dict[str, ItemCounts]:
    """The counts of items that begin with their name, by name."""
    names = sorted({name for name, *_ in (*expected, *answered)})
    return {
        name: count_items(*([one for one in of if one[0] == name] for of in (expected, answered))) for name in names
    }


def summed(counts: Iterable[ItemCounts]) -> ItemCounts:
    """The counts of all documents together."""
    return ItemCounts(*map(sum, zip((0, 0, 0), *counts, strict=True)))
