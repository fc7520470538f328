"""A stated share of the values is wrong, in the three ways of a large model, and nothing else changes."""

import math
from collections import Counter
from random import Random

import pytest

from benchmarks.measure.break_even import OwnModel
from benchmarks.measure.wrong_values import made_wrong
from tests.documents import with_values

NAMES = ("company", "date", "total")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_a_third_of_the_wrong_values_each_is_missing_swapped_and_invented(share: float) -> None:
    clean = with_values(*({name: f"{name} {number}-A" for name in NAMES} for number in range(100)))
    changes = Counter[str]()
    every = {field.value for document in clean for field in document.fields}
    for before, after in zip(clean, made_wrong(clean, share, Random(1)), strict=True):
        values = {field.name: field.value for field in after.fields}
        for field in before.fields:
            value = values.get(field.name)
            kind = "missing" if value is None else "swapped" if value in every else "invented"
            changes["right" if value == field.value else kind] += 1
            assert (
                value is None or kind != "invented" or [*map(str.isdigit, value)] == [*map(str.isdigit, field.value)]
            ), "of the same form"
    each = round(share * 300) // 3
    assert changes == {"right": 300 - 3 * each} | ({"missing": each, "swapped": each, "invented": each} if each else {})


def test_an_own_model_breaks_even_when_labels_and_training_are_paid() -> None:
    own = OwnModel(core_hour=0.36, page_seconds=10, training_seconds=1000, labelled_pages=50)
    assert own.page == pytest.approx(0.001)
    pages = own.break_even(0.011)
    assert pages * 0.011 == pytest.approx(50 * 0.011 + 0.1 + pages * own.page)
    assert own.break_even(0.0005) == math.inf
