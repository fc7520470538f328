"""How many labels a score needs, between measured points."""

import pytest

from benchmarks.measure.labels_needed import labels_needed

SCORES = {30: 0.9, 10: 0.5, 20: 0.8, 40: 0.7}


@pytest.mark.parametrize(
    ("goal", "needed"),
    [(0.4, 10.0), (0.5, 10.0), (0.65, 15.0), (0.8, 20.0), (0.85, 25.0), (0.9, 30.0), (0.91, None)],
)
def test_the_goal_is_looked_for_on_lines_between_the_points(goal: float, needed: float | None) -> None:
    assert labels_needed(SCORES, goal) == (needed if needed is None else pytest.approx(needed))
