"""Counts of items."""

from hypothesis import given
from hypothesis import strategies as st

from layoutray.metrics.field_f1 import field_f1
from layoutray.metrics.item_counts import count_items

ITEMS = st.lists(st.sampled_from(["total=1", "total=2", "date=3"]), max_size=6)


@given(ITEMS, ITEMS)
def test_the_counts_are_those_of_the_field_score(expected: list[str], answered: list[str]) -> None:
    score = field_f1([expected], [answered])["micro"]
    assert count_items(expected, answered) == (score.correct, score.expected, score.answered)
