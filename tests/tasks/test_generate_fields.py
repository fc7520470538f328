"""Fields are learned as lines and read back from them."""

from dataclasses import replace

import pytest

from layoutray.document import Box, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.tasks import AnswersFields, TagsWords, WritesTexts
from layoutray.tasks.generate_fields import GenerateFields, written_fields
from tests.documents import pages, with_fields

SCHEMA = {"party": FieldType("name", many=True), "total": FieldType("amount")}
TASK = GenerateFields(fields=SCHEMA)


def page(*words: str) -> Page:
    return replace(pages(0)[0], words=tuple(Word(word, Box(0, 0, 0.1, 0.1)) for word in words))


def test_the_text_has_the_wanted_fields_in_the_order_of_the_schema() -> None:
    given = [
        Field("total", "9.00"),
        Field("address", "Here"),
        Field("party", "B\nCo"),
        Field("party", "A"),
        Field("total", "9.00"),
    ]
    assert TASK.text(with_fields(pages(0), *given)) == "party: B Co\nparty: A\ntotal: 9.00"
    assert TASK.text(with_fields(pages(0), given[1])) == ""
    with pytest.raises(DocumentError, match=r"receipt-0\.png has no fields") as refused:
        TASK.text(with_fields(pages(0)))
    assert refused.value.reason is Reason.BAD_ANNOTATION


def test_values_are_read_from_lines_and_the_surest_is_answered() -> None:
    lines = [
        ("total: 9. 00", 0.25),
        ("of it", 1.0),
        ("total: 8", 0.5),
        ("party: b & co.", 0.75),
        ("total: 9.0", 0.5),
        ("party: none", 0.5),
    ]
    answers = written_fields(lines, [page("A", "B"), page("&", "Co.", "9.00")], SCHEMA)
    assert [(one.name, one.value, one.content, one.confidence, one.score) for one in answers] == [
        ("party", "B AND CO.", "B & Co.", 0.75, 0.75),
        ("party", "NONE", "none", 0.5, 0.5),
        ("total", "9", "9.0", 0.375, 0.75),
    ]
    assert all(one.bounding_regions == () for one in answers)


def test_lines_that_say_nothing_give_no_fields() -> None:
    assert written_fields([], [], SCHEMA) == ()
    assert (
        written_fields([("", 1.0), ("total:", 1.0), ("total: none", 1.0), ("party 9", 1.0)], [page("A")], SCHEMA) == ()
    )


def test_it_writes_texts_and_answers_fields_and_does_not_tag_words() -> None:
    assert isinstance(TASK, WritesTexts)
    assert isinstance(TASK, AnswersFields)
    assert not isinstance(TASK, TagsWords)
