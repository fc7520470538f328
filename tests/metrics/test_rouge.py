import pytest
from rouge_score.scoring import Score

from layoutray.errors import InputError
from layoutray.metrics.rouge import mean_f1, rouge


def test_the_best_of_several_references_counts_for_each_kind() -> None:
    scores = rouge("a b c", ["c b a", "a b x y z w"])
    assert scores["rouge1"] == Score(1.0, 1.0, 1.0)
    assert scores["rouge2"] == Score(1 / 2, 1 / 5, pytest.approx(2 / 7))
    with pytest.raises(InputError, match="has no reference to be compared with"):
        rouge("a", [])


def test_intervals_contain_the_mean_are_seeded_and_shrink_with_more_documents() -> None:
    right, wrong = rouge("a b", ["a b"]), rouge("a b", ["c d"])
    few, many = ([right, wrong] * count for count in (5, 500))
    for scores in (few, many):
        interval = mean_f1(scores)["rouge1"]
        assert interval.value == 0.5
        assert interval.low < 0.5 < interval.high
    various = [rouge("a b c", ["a b c " + "d " * number]) for number in range(20)]
    assert mean_f1(various) == mean_f1(various)
    wide, narrow = (mean_f1(scores)["rougeL"] for scores in (few, many))
    # The standard error of a share of one half is 0.5/√n, and 95 % lie within 1.96 of them.
    assert narrow.high - narrow.low == pytest.approx(2 * 1.96 * 0.5 / 1000**0.5, rel=0.1)
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)


def test_no_documents_are_refused() -> None:
    with pytest.raises(InputError, match="no document has a summary"):
        mean_f1([])
