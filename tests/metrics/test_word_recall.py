import math

import pytest

from layoutray.metrics.word_recall import word_recall


@pytest.mark.parametrize(
    ("recognised", "truth", "expected"),
    [
        (["Total", "9.00"], ["TOTAL", "9.00"], (1.0, 1.0)),
        (["TOTAL"], ["TOTAL", "9.00"], (1 / 3, 1.0)),
        (["a", "a", "b"], ["a", "c"], (1 / 2, 1 / 3)),
        (["RM-9,00"], ["rm 9", "00"], (1.0, 1.0)),
        (["snake_case"], ["snake case"], (1.0, 1.0)),
        (["ÜBER", "漢字"], ["über", "漢字"], (1.0, 1.0)),
        ([], ["a"], (0.0, math.nan)),
        (["a"], [], (math.nan, 0.0)),
        ([], ["***"], (math.nan, math.nan)),
    ],
)
def test_shares_of_words(recognised: list[str], truth: list[str], expected: tuple[float, float]) -> None:
    assert word_recall(recognised, truth) == pytest.approx(expected, nan_ok=True)
