import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from layoutray.document.tags import Span, spans, to_iob2
from layoutray.errors import InputError

TYPES = st.sampled_from(["total", "date", "line-item"])
TAGS = st.lists(st.one_of(st.just("O"), st.builds("{}-{}".format, st.sampled_from("BI"), TYPES)), max_size=12)


@st.composite
def entities(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Entities in order that share no word, and the number of words."""
    found: list[Span] = []
    end = 0
    for kind, gap, size in draw(st.lists(st.tuples(TYPES, st.integers(0, 2), st.integers(1, 3)), max_size=5)):
        found.append((kind, end + gap, end + gap + size))
        end += gap + size
    return found, end + draw(st.integers(0, 2))


@given(entities())
def test_entities_survive_the_round_trip(drawn: tuple[list[Span], int]) -> None:
    found, length = drawn
    tags = to_iob2(found, length)
    assert len(tags) == length
    assert spans(tags) == found


@given(TAGS)
def test_entities_are_those_that_seqeval_sees(tags: list[str]) -> None:
    assert spans(tags) == [(kind, start, last + 1) for kind, start, last in get_entities(tags)]


def test_words_without_a_tag_are_outside() -> None:
    assert spans(["B-total", None, "I-total"]) == [("total", 0, 1), ("total", 2, 3)]


@pytest.mark.parametrize("tag", ["total", "E-total", "B-", "B", "", "o"])
def test_tags_that_are_not_iob2_are_refused(tag: str) -> None:
    with pytest.raises(InputError, match="not IOB2"):
        spans(["O", tag])


@pytest.mark.parametrize("found", [[("total", 1, 1)], [("total", 2, 4)], [("total", -1, 1)], [("", 0, 1)], [("a", 0, 2), ("b", 1, 3)]])
def test_entities_that_do_not_fit_are_refused(found: list[Span]) -> None:
    with pytest.raises(InputError, match="entity"):
        to_iob2(found, 3)
