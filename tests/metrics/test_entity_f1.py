"""Entities count when their type and both ends agree."""

import pytest

from layoutray.metrics.entity_f1 import entity_f1
from layoutray.metrics.item_counts import ItemCounts

GOLD = [["B-date", "I-date", "O", "B-total"], ["O", "B-total", "B-total"]]


def test_a_perfect_prediction() -> None:
    assert entity_f1(GOLD, GOLD) == {
        "date": ItemCounts(1, 1, 1),
        "total": ItemCounts(3, 3, 3),
        "micro": ItemCounts(4, 4, 4),
    }


def test_counts_by_hand() -> None:
    predicted = [["B-date", "O", "O", "B-total"], ["B-total", "B-total", "O"]]
    scores = entity_f1(GOLD, predicted)
    assert scores["date"] == ItemCounts(0, 1, 1), "its end is wrong"
    assert scores["total"] == ItemCounts(2, 3, 3)
    assert scores["micro"] == ItemCounts(2, 4, 4)


def test_a_type_that_is_only_predicted_costs_precision() -> None:
    scores = entity_f1([["B-a", "O"]], [["B-a", "B-b"]])
    assert scores["b"] == ItemCounts(0, 0, 1)
    assert (scores["micro"].precision, scores["micro"].recall) == (0.5, 1.0)


@pytest.mark.parametrize("tags", [[], [[]], [["O", "O"]]])
def test_without_entities_nothing_is_counted(tags: list[list[str]]) -> None:
    assert entity_f1(tags, tags) == {"micro": ItemCounts(0, 0, 0)}
