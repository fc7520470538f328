"""Fields come back from their lines, whatever else stands around them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Field
from layoutray.document.field_lines import check_names, page_text_of, parse, to_lines
from layoutray.errors import InputError

NAMES = ("total", "invoice_number", "Due Date", "Größe")
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from(":=\n\r\x0b\x1c\x85\u2028 \tabc")), max_size=20)
VALUES = TEXTS.map(lambda text: " ".join(text.split())).filter(bool)
FIELDS = st.lists(st.builds(Field, st.sampled_from(NAMES), VALUES), max_size=5)


@given(FIELDS)
def test_what_is_rendered_is_read_back(fields: list[Field]) -> None:
    assert parse(to_lines(fields), NAMES) == fields


@given(st.lists(st.builds(Field, st.sampled_from(NAMES), TEXTS), max_size=5))
def test_values_of_several_lines_become_one_and_empty_ones_none(fields: list[Field]) -> None:
    plain = [Field(field.name, " ".join(field.value.split())) for field in fields]
    assert parse(to_lines(fields), NAMES) == [field for field in plain if field.value]


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_every_name_that_is_accepted_is_read_back(names: list[str]) -> None:
    try:
        check_names(names)
    except InputError:
        return
    fields = [Field(name, f"{number}: x") for number, name in enumerate(names)]
    assert parse(to_lines(fields), names) == fields


@given(FIELDS, st.lists(st.text("abcdtol: =", max_size=12)), st.randoms())
def test_noise_between_the_lines_takes_nothing_away(
    fields: list[Field], noise: list[str], shuffled: random.Random
) -> None:
    lines = to_lines(fields).splitlines()
    for line in noise:
        lines.insert(shuffled.randint(0, len(lines)), line)
    extra, found = parse("\n".join(noise), NAMES), parse("\n".join(lines), NAMES)
    assert len(found) == len(fields) + len(extra)
    assert [field for field in found if field not in extra] == [field for field in fields if field not in extra]


@given(TEXTS)
def test_whatever_is_written_gives_known_names_and_values(text: str) -> None:
    assert all(
        field.name in NAMES and field.value == " ".join(field.value.split()) != "" for field in parse(text, NAMES)
    )


def test_case_blanks_accents_and_punctuation_of_names_do_not_count_and_those_of_values_do() -> None:
    text = "TOTAL :  9. 00\n- invoice number: A: 7\ndue  date:\nTotal 8\nsum: 3\n: 4\nduedate:X\n2 total: 5"
    assert parse(text, NAMES) == [Field("total", "9. 00"), Field("invoice_number", "A: 7"), Field("Due Date", "X")]
    assert parse("grosse: ab\nGro\u0308ße: c\ngroes: d", NAMES) == [Field("Größe", "ab"), Field("Größe", "c")]


@pytest.mark.parametrize(
    "names", [["a:b"], [" "], ["-"], ["a\nb"], ["a\n"], ["due date", "DueDate"], ["due_date", "due-date"]]
)
def test_names_that_cannot_be_read_back_are_refused(names: list[str]) -> None:
    with pytest.raises(InputError, match=r"the field names? (is|are)"):
        check_names(names)
    check_names(NAMES)


def test_values_are_found_as_they_stand() -> None:
    words = ["Acme", "(M)", "SDN.", "BHD", "\u0301", "Total:", "RM9.00", "9.00", "Café"]
    assert page_text_of("acme ( m ) sdn. bhd", words) == "Acme (M) SDN. BHD"
    assert page_text_of("9. 00", words) == "9.00", "a part of a word is not the word"
    assert page_text_of("cafe", words) == "Café"
    assert page_text_of("sdn. acme", words) == "sdn. acme"
    assert (page_text_of("", words), page_text_of("x", [])) == ("", "x")


@given(st.lists(VALUES, min_size=1, max_size=6), st.data())
def test_any_run_of_words_is_found_again(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    value = " ".join(words[start:end])
    found = page_text_of(value.lower(), words)
    assert "".join(found.split()).casefold() == "".join(value.split()).casefold() or page_text_of(found, words) == found
