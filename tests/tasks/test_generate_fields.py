"""Fields are learned as lines and read back from them."""

from dataclasses import replace

import pytest

from layoutray.document import Box, Field, Page, Word
from layoutray.document.answers import Copy, TextLine
from layoutray.document.field_type import FieldType
from layoutray.errors import DocumentError, Reason
from layoutray.tasks import AnswersFields, TagsWords, WritesTexts
from layoutray.tasks.generate_fields import GenerateFields, written_fields
from tests.documents import pages, with_fields

SCHEMA = {"party": FieldType(type="name", many=True), "total": FieldType(type="amount")}
TASK = GenerateFields(fields=SCHEMA)


def page(*words: str) -> Page:
    return replace(pages(0)[0], words=tuple(Word(text=word, box=Box(0, 0, 0.1, 0.1)) for word in words))


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
    with pytest.raises(
        DocumentError, match=r"receipt-0\.png has several values of total, which may have one"
    ) as refused:
        TASK.text(with_fields(pages(0), *given, Field("total", "8.00")))
    assert refused.value.reason is Reason.CONTRADICTORY


def test_values_are_read_from_lines_and_the_surest_is_answered() -> None:
    lines = [
        TextLine("total: 9. 00", 0.25),
        TextLine("of it", 1.0),
        TextLine("total: 8", 0.5),
        TextLine("party: b & co.", 0.75),
        TextLine("total: 9.0", 0.5),
        TextLine("party: none", 0.5),
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
    lines = [TextLine(text, 1.0) for text in ("", "total:", "total: none", "party 9")]
    assert written_fields(lines, [page("A")], SCHEMA) == ()


def test_a_copied_value_has_the_words_and_regions_of_its_source() -> None:
    first, second = page("Total", "9.00"), page("A", "B", "Total", "9.00")
    words = tuple(
        replace(word, box=Box(0.1 * place, 0.1, 0.1 * place + 0.1, 0.2), line=place // 3, confidence=0.5 + 0.1 * place)
        for place, word in enumerate(second.words)
    )
    second = replace(second, number=2, width=100, height=200, words=words)
    total = TextLine("total: 9. 00", 0.5, (Copy(5, 4), Copy(8, 5), Copy(9, 5), Copy(12, 5)))
    party = TextLine("party: a bee total", 0.5, (Copy(8, 2), Copy(18, 4)))
    one, other = written_fields([total, party], [first, second], SCHEMA)
    assert (one.content, other.content) == ("a bee total", "9.00")
    assert [(region.page_number, region.polygon[:2]) for region in other.bounding_regions] == [
        (2, pytest.approx((30, 20)))
    ]
    assert [region.polygon[4:6] for region in one.bounding_regions] == [pytest.approx((30, 40))]
    assert other.confidence == pytest.approx(0.5 * 0.8)
    assert one.confidence == pytest.approx(0.5 * 0.5)


def test_it_writes_texts_and_answers_fields_and_does_not_tag_words() -> None:
    assert isinstance(TASK, WritesTexts)
    assert isinstance(TASK, AnswersFields)
    assert not isinstance(TASK, TagsWords)
