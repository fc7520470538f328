"""Words by true and predicted type."""

from collections import Counter

from layoutray.metrics import confusion


def test_words_are_counted_by_type_whatever_their_prefix() -> None:
    gold = [["B-a", "I-a", "O"], ["B-b-c", "O"]]
    predicted = [["B-a", "I-b", "B-a"], ["B-b-c", "O"]]
    assert confusion.count(gold, predicted) == Counter(
        {("a", "a"): 1, ("a", "b"): 1, ("O", "a"): 1, ("b-c", "b-c"): 1, ("O", "O"): 1}
    )
