"""The accuracy by tree edit distance, against numbers worked out by hand and a plain recursion over forests."""

from functools import cache
from random import Random
from typing import Any

import pytest
from rapidfuzz.distance import Levenshtein

from layoutray.metrics.tree_edit import tree_accuracy

TRUTH: dict[str, Any] = {"menu": [{"nm": ["cake"], "cnt": ["2"]}, {"nm": ["juice"], "cnt": ["1"]}]}
SIZE = 1 + 2 * 3 + 4 + 1 + 5 + 1
"""The node `menu`, two groups of two names, and the characters of the values."""


@pytest.mark.parametrize(
    ("answer", "distance"),
    [
        (TRUTH, 0),
        ({"menu": [{"cnt": ["2"], "nm": ["cake"]}, {"nm": ["juice"], "cnt": ["1"]}]}, 0),
        ({"menu": [{"nm": ["cape"], "cnt": ["2"]}, {"nm": ["juice"], "cnt": ["1"]}]}, 1),
        ({"menu": [{"nm": ["cake"], "cnt": ["2"]}, {"nm": ["juice"], "num": ["1"]}]}, 1),
        ({"menu": [{"nm": ["cake"], "cnt": ["2"]}]}, 1 + 2 + 5 + 1),
        ({"menu": [{"nm": ["cake"], "cnt": ["2"]}, {"nm": ["juice"], "cnt": [" 1 "]}], "x": ["", " "]}, 0),
        ({}, SIZE),
    ],
)
def test_worked_examples(answer: dict[str, Any], distance: int) -> None:
    assert tree_accuracy(TRUTH, answer) == pytest.approx(1 - distance / SIZE)


def test_a_value_in_the_wrong_group_costs_more_than_none() -> None:
    moved = {"menu": [{"nm": ["cake"], "cnt": ["2", "1"]}, {"nm": ["juice"]}]}
    assert tree_accuracy(TRUTH, moved) < tree_accuracy(TRUTH, {"menu": [TRUTH["menu"][0], {"nm": ["juice"]}]}) < 1


def test_the_accuracy_is_never_negative_and_nothing_expected_is_met_by_nothing() -> None:
    assert tree_accuracy({"a": ["x"]}, {"b": ["a much longer value"], "c": ["and another"]}) == 0
    assert tree_accuracy({}, {}) == 1
    assert tree_accuracy({}, {"a": ["x"]}) == 0


Node = tuple[str, bool, tuple["Node", ...]]


def _node(name: str, content: Any) -> Node:
    if isinstance(content, dict):
        kids = [_node(key, content[key]) for key in sorted(content, key=lambda key: (len(key), key))]
    elif isinstance(content[0], str):
        kids = [(text, True, ()) for text in content]
    else:
        kids = [_node("<group>", group) for group in content]
    return name, False, tuple(kids)


def _cost(node: Node) -> int:
    return len(node[0]) if node[1] else 1


def _replace(one: Node, other: Node) -> int:
    if one[1] and other[1]:
        return Levenshtein.distance(one[0], other[0])
    if one[1] or other[1]:
        return 1 + (len(one[0]) if one[1] else len(other[0]))
    return int(one[0] != other[0])


@cache
def _forest_distance(one: tuple[Node, ...], other: tuple[Node, ...]) -> int:
    """By the definition: the last root of a forest is deleted, inserted, or the two last roots are matched."""
    if not one and not other:
        return 0
    costs: list[int] = []
    if one:
        costs.append(_forest_distance(one[:-1] + one[-1][2], other) + _cost(one[-1]))
    if other:
        costs.append(_forest_distance(one, other[:-1] + other[-1][2]) + _cost(other[-1]))
    if one and other:
        costs.append(
            _forest_distance(one[:-1], other[:-1])
            + _forest_distance(one[-1][2], other[-1][2])
            + _replace(one[-1], other[-1])
        )
    return min(costs)


def _random_values(random: Random, depth: int = 0) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in random.sample(["a", "b", "nm", "cnt"], random.randint(1, 2)):
        if depth < 1 and random.random() < 0.6:
            values[name] = [_random_values(random, depth + 1) for _ in range(random.randint(1, 2))]
        else:
            values[name] = ["".join(random.choices("xyz", k=random.randint(1, 3))) for _ in range(random.randint(1, 2))]
    return values


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_have_the_distance_of_the_definition(seed: int) -> None:
    random = Random(seed)
    truth, answer = _random_values(random), _random_values(random)
    roots = [(_node("", values),) for values in (truth, answer, {})]
    size = _forest_distance(roots[2], roots[0])
    expected = max(0.0, 1 - _forest_distance(roots[1], roots[0]) / size)
    assert tree_accuracy(truth, answer) == pytest.approx(expected)
