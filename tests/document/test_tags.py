import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

from layoutray.document.tags import Span, are_entity_tags, kind_of, spans, to_bioes, to_iob2
from layoutray.errors import InputError

TYPES = st.sampled_from(["total", "date", "line-item"])
TAGS = st.lists(st.one_of(st.just("O"), st.builds("{}-{}".format, st.sampled_from("BIES"), TYPES)), max_size=12)


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
    iob2, bioes = to_iob2(found, length), to_bioes(found, length)
    assert len(iob2) == len(bioes) == length
    assert spans(iob2) == spans(bioes) == found
    assert [kind_of(tag) for tag in iob2] == [kind_of(tag) for tag in bioes]


@given(entities())
def test_either_scheme_becomes_the_other_without_loss(drawn: tuple[list[Span], int]) -> None:
    found, length = drawn
    iob2, bioes = to_iob2(found, length), to_bioes(found, length)
    assert to_bioes(spans(iob2), length) == bioes
    assert to_iob2(spans(bioes), length) == iob2


def test_bioes_marks_last_words_and_single_ones() -> None:
    tags = to_bioes([("total", 0, 1), ("date", 1, 3), ("line-item", 4, 7)], 8)
    assert tags == ["S-total", "B-date", "E-date", "O", "B-line-item", "I-line-item", "E-line-item", "O"]


def test_an_entity_without_its_first_word_begins_where_it_is_seen() -> None:
    assert to_bioes(spans(["I-total", "I-total", "I-date", "O"]), 4) == ["B-total", "E-total", "S-date", "O"]
    assert to_iob2(spans(["E-total", "I-total", "B-date", "O"]), 4) == ["B-total", "B-total", "B-date", "O"]


@given(TAGS)
def test_entities_are_those_that_seqeval_sees(tags: list[str]) -> None:
    assert spans(tags) == [(kind, start, last + 1) for kind, start, last in get_entities(tags)]


def test_words_without_a_tag_are_outside() -> None:
    assert spans(["B-total", None, "I-total"]) == [("total", 0, 1), ("total", 2, 3)]


@pytest.mark.parametrize("tag", ["total", "L-total", "B-", "B", "", "o"])
def test_tags_of_neither_scheme_are_refused(tag: str) -> None:
    with pytest.raises(InputError, match="neither IOB2 nor BIOES"):
        spans(["O", tag])


@pytest.mark.parametrize(
    "found", [[("total", 1, 1)], [("total", 2, 4)], [("total", -1, 1)], [("", 0, 1)], [("a", 0, 2), ("b", 1, 3)]]
)
def test_entities_that_do_not_fit_are_refused(found: list[Span]) -> None:
    with pytest.raises(InputError, match="entity"):
        to_iob2(found, 3)
    with pytest.raises(InputError, match="entity"):
        to_bioes(found, 3)


def test_labels_of_regions_are_no_entities() -> None:
    assert [are_entity_tags(tags) for tags in (["O", None], ["S-a"], ["title", "O"], [None], [])] == [
        True,
        True,
        False,
        False,
        False,
    ]
