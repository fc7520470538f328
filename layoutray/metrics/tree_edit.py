"""Accuracy of nested values by tree edit distance, as Donut reports it for CORD (arXiv:2111.15664, section 3.2).

The values of a page are a tree: names of fields are inner nodes, values are leaves. The distance between two trees is
the lowest cost of edits that turn one into the other. To insert or delete an inner node costs 1, a value its number of
characters; to replace a name by another costs 1, a value by another their Levenshtein distance, and a name by a value
the characters of the value and 1. The accuracy is 1 - distance / (cost of the true tree from an empty one), at least 0.

The distance is that of Zhang and Shasha (SIAM Journal on Computing 18, 1989), for ordered trees. The order of names is
therefore fixed: shorter ones come first, names of one length by alphabet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

Nested = Mapping[str, "Sequence[str] | Sequence[Nested]"]
"""Values, or groups of values, by name."""


def tree_accuracy(expected: Nested, answered: Nested) -> float:
    """0..1; 1 for an empty answer where nothing is expected."""
    truth, answer, empty = _Tree.of(expected), _Tree.of(answered), _Tree.of({})
    size = _distance(empty, truth)
    if not size:
        return float(len(answer.labels) == 1)
    return max(0.0, 1.0 - _distance(answer, truth) / size)


@dataclass(frozen=True, slots=True)
class _Label:
    text: str
    is_value: bool

    @property
    def cost(self) -> int:
        """Of inserting or deleting a node with this label."""
        return len(self.text) if self.is_value else 1


@dataclass(frozen=True, slots=True)
class _Tree:
    """The nodes of a tree in postorder, and for each the number of the leftmost leaf below it."""

    labels: tuple[_Label, ...]
    first_leaf: tuple[int, ...]

    @classmethod
    def of(cls, values: Nested) -> "_Tree":
        labels: list[_Label] = []
        first_leaf: list[int] = []

        def add(label: _Label, children: Sequence[tuple[_Label, object]]) -> int:
            firsts = [add(child, _children(content)) for child, content in children]
            labels.append(label)
            first_leaf.append(firsts[0] if firsts else len(first_leaf))
            return first_leaf[-1]

        add(_Label("", is_value=False), _children(values))
        return cls(tuple(labels), tuple(first_leaf))

    @property
    def roots(self) -> list[int]:
        """Of each leftmost leaf, the highest node above it, in postorder."""
        return sorted({leaf: node for node, leaf in enumerate(self.first_leaf)}.values())


def _children(content: object) -> list[tuple[_Label, object]]:
    """The labels of a node's children, each with its own content; None for a value."""
    if isinstance(content, Mapping):
        return [
            (_Label(name, is_value=False), content[name])
            for name in sorted(content, key=lambda name: (len(name), name))
            if _has_value(content[name])
        ]
    if not isinstance(content, Sequence):
        return []
    if content and isinstance(content[0], str):
        return [(_Label(text.strip(), is_value=True), None) for text in content if text.strip()]
    return [(_Label("<group>", is_value=False), group) for group in content if _has_value(group)]


def _has_value(content: object) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    parts = content.values() if isinstance(content, Mapping) else content
    return any(_has_value(part) for part in parts)  # pyright: ignore[reportGeneralTypeIssues]


def _distance(one: _Tree, other: _Tree) -> int:
    """The lowest cost of edits that turn `one` into `other`."""
    distances = np.zeros((len(one.labels), len(other.labels)), np.int64)
    replaced = np.array([[_replace_cost(left, right) for right in other.labels] for left in one.labels], np.int64)
    for node in one.roots:
        for root in other.roots:
            _fill(distances, replaced, one, other, node, root)
    return int(distances[-1, -1])


def _fill(
    distances: NDArray[np.int64], replaced: NDArray[np.int64], one: _Tree, other: _Tree, node: int, root: int
) -> None:
    """Write the distances of all pairs of subtrees that begin at the first leaf of `node` and of `root`."""
    start, begin = one.first_leaf[node], other.first_leaf[root]
    forest = np.zeros((node - start + 2, root - begin + 2), np.int64)
    forest[1:, 0] = np.cumsum([label.cost for label in one.labels[start : node + 1]])
    forest[0, 1:] = np.cumsum([label.cost for label in other.labels[begin : root + 1]])
    rows = forest.tolist()
    for i in range(start, node + 1):
        before, current = rows[i - start], rows[i - start + 1]
        deleted = one.labels[i].cost
        for j in range(begin, root + 1):
            inserted = other.labels[j].cost
            cheapest = min(before[j - begin + 1] + deleted, current[j - begin] + inserted)
            if one.first_leaf[i] == start and other.first_leaf[j] == begin:
                cheapest = min(cheapest, before[j - begin] + int(replaced[i, j]))
                distances[i, j] = cheapest
            else:
                apart = rows[one.first_leaf[i] - start][other.first_leaf[j] - begin]
                cheapest = min(cheapest, apart + int(distances[i, j]))
            current[j - begin + 1] = cheapest


def _replace_cost(one: _Label, other: _Label) -> int:
    if one.is_value and other.is_value:
        return Levenshtein.distance(one.text, other.text)
    if one.is_value or other.is_value:
        return 1 + (one if one.is_value else other).cost
    return int(one.text != other.text)
