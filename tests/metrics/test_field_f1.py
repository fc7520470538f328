"""Fields of documents count when name and value agree."""

import pytest

from layoutray.document import Field
from layoutray.metrics.field_f1 import exact_items, field_f1, geval_items
from layoutray.metrics.item_counts import ItemCounts

EXPECTED = [["party=Nike_Inc.", "party=Eric_Sprunk", "term=2_years"], ["party=ACME"]]
ANSWERED = [["party=NIKE_INC.", "term=2_years", "term=3_years"], []]


def test_fields_are_scored_together_and_separately() -> None:
    scores = field_f1(EXPECTED, ANSWERED, upper=True)
    assert scores == {"party": ItemCounts(1, 3, 1), "term": ItemCounts(1, 1, 2), "micro": ItemCounts(2, 4, 3)}
    assert (scores["party"].precision, scores["party"].recall, scores["party"].f1) == pytest.approx((1, 1 / 3, 1 / 2))


def test_case_matters_unless_upper_is_set() -> None:
    assert field_f1(EXPECTED, ANSWERED)["party"] == ItemCounts(0, 3, 1)


def test_no_documents_have_no_items() -> None:
    assert field_f1([], []) == {"micro": ItemCounts(0, 0, 0)}


def test_different_numbers_of_documents_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        field_f1(EXPECTED, ANSWERED[:1])


def test_items_follow_kleister_and_sroie() -> None:
    fields = [Field("party", "99¢  Only: Stores"), Field("term", "2 years")]
    assert geval_items(fields) == ["party=99¢_Only_Stores", "term=2_years"]
    assert exact_items(fields) == ["party=99¢  Only: Stores", "term=2 years"]
