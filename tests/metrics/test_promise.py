import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.metrics.promise import is_shown, log_wealth, lower_bound, more_needed

_RISK = 0.1


@pytest.mark.parametrize("share", [0.9, 0.99])
@pytest.mark.parametrize("judged", [1, 3])
def test_the_promise_is_broken_at_most_as_often_as_the_risk_says_whenever_one_looks(share: float, judged: int) -> None:
    """The bound exceeds the true share when wealth against the true share reaches 1 / risk; looked at each time."""
    random = np.random.default_rng(1)
    right = (random.random((2000, 500, judged)) < share).mean(-1)

    broken = sum((log_wealth(part, share).max(-1) >= -math.log(_RISK)).sum() for part in np.array_split(right, 8))

    deviation = math.sqrt(_RISK * (1 - _RISK) / 2000)
    assert broken / 2000 <= _RISK + 2 * deviation
    assert broken > 0  # the test looks at what can happen


def test_answers_of_one_document_that_are_right_and_wrong_together_break_no_promise() -> None:
    random = np.random.default_rng(2)
    right = np.repeat(random.random((2000, 300, 1)) < 0.95, 10, axis=-1).mean(-1)

    broken = (log_wealth(right, 0.95).max(-1) >= -math.log(_RISK)).mean()

    assert broken <= _RISK


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_the_bound_is_below_the_share_of_right_answers_and_falls_with_a_wrong_one(answers: list[bool]) -> None:
    right = np.array(answers, float)
    bound = lower_bound(right, _RISK)

    assert bound <= right.mean()
    assert lower_bound(np.append(right, 0.0), _RISK) <= bound + 1e-9
    assert is_shown(right, bound - 1e-9, _RISK) == (bound > 0)
    assert not is_shown(right, bound + 1e-9, _RISK)


@pytest.mark.parametrize(("wrong", "needed"), [(0, 253), (1, 599), (2, 810)])
def test_right_answers_that_show_a_share(wrong: int, needed: int) -> None:
    """The fewest by any rule are 230 = ln 0.1 / ln 0.99 without a wrong answer: looking at any time costs 23."""
    right = np.append(np.zeros(wrong), np.ones(100))

    more = more_needed(right, 0.99, _RISK)

    assert len(right) + more == needed
    assert is_shown(np.append(right, np.ones(more)), 0.99, _RISK)
    assert not is_shown(np.append(right, np.ones(more - 1)), 0.99, _RISK)
    assert more_needed(np.append(right, np.ones(more + 5)), 0.99, _RISK) == 0


def test_without_answers_nothing_is_shown() -> None:
    none = np.zeros(0)
    assert lower_bound(none, _RISK) == 0
    assert more_needed(none, 0.99, _RISK) == 253
