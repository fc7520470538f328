"""Records are compared as wholes, and by their fields in the best matching."""

from layoutray.metrics.record_f1 import record_f1, record_field_f1, ungrouped_field_f1

TEA = [("name", "Tea"), ("price", "2.00")]
MILK = [("name", "Milk"), ("price", "1.00")]
RUSK = [("name", "Rusk"), ("price", "2.00")]


def test_a_record_is_correct_only_as_a_whole() -> None:
    score = record_f1([[TEA, MILK, RUSK]], [[RUSK, [*reversed(MILK)], [("name", "Tea")]]])
    assert (score.correct, score.expected, score.answered) == (2, 3, 3)


def test_a_repeated_record_counts_as_often_as_it_is_in_both() -> None:
    assert record_f1([[TEA, TEA]], [[TEA, TEA, TEA]]).correct == 2
    assert record_f1([[TEA], [MILK]], [[MILK], [TEA]]).correct == 0, "records of another page"


def test_fields_count_in_the_best_matching() -> None:
    swapped = [[("name", "Tea"), ("price", "1.00")], [("name", "Milk"), ("price", "2.00")]]
    assert record_field_f1([[TEA, MILK]], [swapped]).correct == 2
    assert ungrouped_field_f1([[TEA, MILK]], [swapped]).correct == 4
    # Greedy by order would match TEA with the record that shares only the price.
    assert record_field_f1([[TEA, RUSK]], [[RUSK, TEA]]).correct == 4


def test_pages_without_records_count_their_fields() -> None:
    score = record_field_f1([[TEA], []], [[], [MILK]])
    assert (score.correct, score.expected, score.answered, score.f1) == (0, 2, 2, 0.0)
