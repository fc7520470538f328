"""The order in which documents are chosen, from uncertainties and mean states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.active_learning.choice import choose
from layoutray.active_learning.reading import ReadDocument

SHOP, BANK, HOTEL = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def read(name: str, uncertainty: float, state: tuple[float, ...]) -> ReadDocument:
    return ReadDocument(
        doc_id=name,
        source=f"{name}.png",
        words=10,
        uncertainty=uncertainty,
        state=np.array(state, np.float32),
        doubts=(),
    )


def order(candidates: list[ReadDocument], labelled: list[ReadDocument] | None = None, count: int = 0) -> list[str]:
    return [one.document.doc_id for one in choose(candidates, labelled or [], count or len(candidates))]


def test_documents_of_one_kind_are_ordered_by_uncertainty() -> None:
    assert order([read(name, value, SHOP) for name, value in (("a", 1), ("b", 3), ("c", 2))]) == ["b", "c", "a"]


def test_a_similar_document_comes_after_a_less_uncertain_one_of_another_kind() -> None:
    shops, banks = [read(f"shop {n}", 5 - n, SHOP) for n in range(2)], [read("bank", 1, BANK)]
    assert order([*shops, *banks]) == ["shop 0", "bank", "shop 1"]


def test_what_is_labelled_already_counts_as_chosen() -> None:
    candidates = [read("shop", 5, SHOP), read("bank", 1, BANK), read("hotel", 2, HOTEL)]
    assert order(candidates, [read("labelled", 0, SHOP)]) == ["hotel", "bank", "shop"]


def test_a_document_that_stands_for_others_comes_before_a_more_uncertain_outlier() -> None:
    assert order([read("outlier", 3, BANK), *(read(f"shop {n}", 2, SHOP) for n in range(3))], count=1) == ["shop 0"]


def test_the_similarity_is_that_of_the_nearest_document_before() -> None:
    candidates = [read("shop", 5, SHOP), read("other shop", 4, SHOP), read("bank", 3, BANK)]
    assert [one.similarity for one in choose(candidates, [], 3)] == pytest.approx([0, 0, 1])
    assert choose(candidates, [read("labelled", 0, BANK)], 3)[-1].similarity == pytest.approx(1)


@given(
    st.lists(st.tuples(st.floats(0, 9), st.tuples(*[st.floats(-1, 1, width=16)] * 3)), min_size=1, max_size=8),
    st.data(),
)
def test_each_document_is_chosen_once(documents: list[tuple[float, tuple[float, ...]]], data: st.DataObject) -> None:
    candidates = [read(str(number), *one) for number, one in enumerate(documents)]
    count = data.draw(st.integers(1, len(candidates)))
    chosen = order(candidates, count=count)
    assert len(set(chosen)) == len(chosen) == count
    assert order(candidates)[:count] == chosen, "a longer list begins with a shorter one"
