"""Entity scores: an entity counts when its type and both ends agree."""

import pytest

from layoutray.metrics.entity_f1 import Score, entity_f1, with_missed

GOLD = [["B-date", "I-date", "O", "B-total"], ["O", "B-total", "B-total"]]


def test_a_perfect_prediction() -> None:
    assert entity_f1(GOLD, GOLD) == {"date": Score(1, 1, 1, 1), "total": Score(1, 1, 1, 3), "micro": Score(1, 1, 1, 4)}


def test_counts_by_hand() -> None:
    predicted = [["B-date", "O", "O", "B-total"], ["B-total", "B-total", "O"]]
    scores = entity_f1(GOLD, predicted)
    assert scores["date"] == Score(0, 0, 0, 1), "its end is wrong"
    assert scores["total"] == Score(pytest.approx(2 / 3), pytest.approx(2 / 3), pytest.approx(2 / 3), 3)
    assert scores["micro"] == Score(pytest.approx(2 / 4), pytest.approx(2 / 4), pytest.approx(2 / 4), 4)


def test_a_type_that_is_only_predicted_costs_precision() -> None:
    scores = entity_f1([["B-a", "O"]], [["B-a", "B-b"]])
    assert scores["b"] == Score(0, 0, 0, 0)
    assert (scores["micro"].precision, scores["micro"].recall) == (0.5, 1.0)


@pytest.mark.parametrize("tags", [[], [[]], [["O", "O"]]])
def test_without_entities_all_scores_are_zero(tags: list[list[str]]) -> None:
    assert entity_f1(tags, tags) == {"micro": Score(0, 0, 0, 0)}


def test_missed_entities_lower_recall() -> None:
    assert with_missed(Score(0.5, 1.0, 2 / 3, 4), 4) == Score(0.5, 0.5, 0.5, 8)
    assert with_missed(Score(0.0, 0.0, 0.0, 0), 0) == Score(0.0, 0.0, 0.0, 0)
    gold, predicted = [["B-a", "O", "B-a"], ["B-a"]], [["B-a", "B-a", "O"], ["O"]]
    assert with_missed(entity_f1(gold[:1], predicted[:1])["micro"], 1) == entity_f1(gold, predicted)["micro"]
