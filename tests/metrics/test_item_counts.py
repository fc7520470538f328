"""Counts of items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.metrics.field_f1 import field_f1
from layoutray.metrics.item_counts import ItemCounts, count_items

ITEMS = st.lists(st.sampled_from(["total=1", "total=2", "date=3"]), max_size=6)


@given(ITEMS, ITEMS)
def test_the_counts_are_those_of_the_field_score(expected: list[str], answered: list[str]) -> None:
    score = field_f1([expected], [answered])["micro"]
    assert count_items(expected, answered) == (score.correct, score.expected, score.answered)


@pytest.mark.parametrize(
    ("counts", "metrics"),
    [
        (ItemCounts(1, 2, 4), {"field_precision.a": 1 / 4, "field_recall.a": 1 / 2, "field_f1.a": 1 / 3}),
        (ItemCounts(0, 2, 0), {"field_recall.a": 0.0, "field_f1.a": 0.0}),
        (ItemCounts(0, 0, 2), {"field_precision.a": 0.0, "field_f1.a": 0.0}),
        (ItemCounts(0, 0, 0), {}),
    ],
)
def test_a_share_of_nothing_has_no_value(counts: ItemCounts, metrics: dict[str, float]) -> None:
    assert counts.metrics("field_", ".a") == pytest.approx(metrics)
