"""Words that state a document's expected values get the tags of its fields."""

from dataclasses import replace
from pathlib import Path

import pytest

from layoutray.document import REVIEWED, Box, Field, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.tags import OUTSIDE, UNKNOWN, spans, unknown_but_not
from layoutray.prepare.tag_fields import tag_fields
from layoutray.readers import load
from layoutray.readers.annotation import ANNOTATED

NAME, DATE, AMOUNT, TERM = (
    FieldType(type="name"),
    FieldType(type="date"),
    FieldType(type="amount"),
    FieldType(type="term", many=True),
)


def page(text: str, number: int = 1) -> Page:
    words = tuple(Word(text=word, box=Box(0, 0, 1, 1)) for word in text.split())
    return Page(
        doc_id="d",
        number=number,
        width=100,
        height=100,
        words=words,
        source="d",
        image="",
        split="train",
        provenance=ANNOTATED,
    )


def stated(field: FieldType, value: str, *texts: str) -> list[list[str]]:
    """The words of each page that are tagged as one value."""
    tagged = tag_fields(
        [page(text, number) for number, text in enumerate(texts, start=1)], [Field("f", value)], {"f": field}
    )
    found = [[_words(one, *span) for span in spans([word.tag for word in one.words])] for one in tagged.pages]
    assert bool(tagged.missing) == (not any(found))
    return found


def _words(of: Page, kind: str, start: int, end: int) -> str:
    return " ".join(word.text for word in of.words[start:end])


def test_similar_letters_inside_the_last_word_of_a_page_are_no_value() -> None:
    assert stated(FieldType(), "Company Ltd", "from:OURLOCALACMECOMPANYLTD") == [[]]


@pytest.mark.parametrize(
    ("field", "value", "text", "words"),
    [
        (DATE, "2012-01-06", "made on January 6, 2012, between", ["January 6, 2012,"]),
        (DATE, "2012-01-06", "this 6th day of January, 2012 at 10:30", ["6th day of January, 2012"]),
        (DATE, "25/12/2018", "Date:25-12-18 2018", ["Date:25-12-18"]),
        (AMOUNT, "9.00", "TOTAL RM 9.00 CASH RM10.00 CHANGE 1.00 PAID:$9", ["9.00", "PAID:$9"]),
        (AMOUNT, "1234.5", "Summe 1 234,50 EUR", ["1 234,50"]),
        (TERM, "2 years", "a period of two (2) years from", ["two (2) years"]),
        (TERM, "24 months", "for twenty-four months.", ["twenty-four months."]),
        (NAME, "Nike Inc.", "between NIKE, Inc. (“Nike”) and", ["NIKE, Inc."]),
        (NAME, "Sears and Co.", "SEARS & CO., of", ["SEARS & CO.,"]),
        (NAME, "GARDENIA BAKERIES SDN BHD", "by GARDENIABAKERIES SDN. BHD .", ["GARDENIABAKERIES SDN. BHD"]),
        (NAME, "Flipkart", "Flipkart: see www.flipkart.com/support or flipkart.com", ["Flipkart:", "flipkart.com"]),
        (NAME, "Oregon", "Oregonian laws of Oregon.", ["Oregon."]),
        (
            FieldType(type="address"),
            "NO.53 JALAN 1, JOHOR",
            "at: No. 53 , JALAN 1 , JOHOR tel 07",
            ["No. 53 , JALAN 1 , JOHOR"],
        ),
    ],
)
def test_values_are_found_however_they_are_written(field: FieldType, value: str, text: str, words: list[str]) -> None:
    assert stated(field, value, text) == [words]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2008-03-05", "5/3/08"),
        ("2008-03-05", "5-MAR-8"),
        ("2008-03-05", "20080305"),
        ("2000-03-05", "5/3/00"),
        ("2018-03-05", "５/３/２０１８"),
        ("2018-03-05", "5Mar2018"),
    ],
)
def test_a_year_may_have_one_digit_and_any_width(value: str, text: str) -> None:
    assert stated(DATE, value, f"on {text} 3.50") == [[text]]


def test_errors_of_recognition_are_no_loss_where_nothing_is_exact() -> None:
    misread = "welcome at GARDENlA BAKERlES SDN BHD total"
    assert stated(NAME, "GARDENIA BAKERIES SDN BHD", misread) == [["GARDENlA BAKERlES SDN BHD"]]
    assert stated(NAME, "GARDENIA BAKERIES SDN BHD", misread, "GARDENIA BAKERIES SDN BHD") == [
        [],
        ["GARDENIA BAKERIES SDN BHD"],
    ]
    assert stated(NAME, "BHD 1", "BHD l") == [[]], "too short to be found by similarity"


@pytest.mark.parametrize("value", ["", " - ", "2012-01-06"])
def test_values_that_stand_nowhere_are_told(value: str) -> None:
    for field in (NAME, DATE, AMOUNT, TERM):
        tagged = tag_fields([page("nothing of 2013 here"), page("")], [Field("f", value)], {"f": field})
        assert tagged.missing == (Field("f", value),)
        # Nobody knows which words state the value, so those that could be of its type are not outside of it.
        could_be = [word == "2013" and field is not NAME for word in ("nothing", "of", "2013", "here")]
        expected = [UNKNOWN if could else OUTSIDE for could in could_be]
        assert [word.tag for one in tagged.pages for word in one.words] == expected


def test_only_wanted_fields_are_tagged_and_longer_ones_win() -> None:
    fields = [Field("town", "Oslo"), Field("address", "Main Street 1, Oslo"), Field("other", "Main")]
    schema = {"town": FieldType(type="name"), "address": FieldType(type="address")}
    tagged = tag_fields([page("Main Street 1 Oslo Oslo")], fields, schema)
    assert [word.tag for word in tagged.pages[0].words] == [
        "B-address",
        "I-address",
        "I-address",
        "I-address",
        "B-town",
    ]
    assert tagged.missing == ()


def test_a_value_of_no_document_is_no_error() -> None:
    assert tag_fields([], [Field("f", "x")], {"f": NAME}).missing == (Field("f", "x"),)


def test_fields_of_receipts_are_found(data_root: Path) -> None:
    schema = {"company": NAME, "date": DATE, "address": FieldType(type="address"), "total": AMOUNT}
    wanted, missing = 0, 0
    for item in list(load("sroie").discover(str(data_root / "sroie" / "SROIE2019")))[::10]:
        truth = load("sroie").read(item)
        wanted += len(truth.document.fields)
        missing += len(tag_fields(truth.pages, truth.document.fields, schema).missing)
    assert missing <= 0.01 * wanted


def test_a_date_inside_a_fused_word_is_tagged_where_no_word_states_it_alone() -> None:
    date, fused = FieldType(type="date"), "Date:14/02/20185:37:44PM 12.50"
    assert stated(date, "14/02/2018", fused) == [["Date:14/02/20185:37:44PM"]]
    assert stated(date, "14/02/2018", fused, "paid 14/02/2018") == [[], ["14/02/2018"]]


def test_words_that_a_person_chose_keep_their_tag_also_where_ocr_misread_them() -> None:
    reviewed = replace(page("T0TAL 12.O0 paid 12.00 later"), provenance=replace(ANNOTATED, words=REVIEWED))
    tags = (OUTSIDE, "B-f", OUTSIDE, OUTSIDE, "B-other")
    chosen = replace(
        reviewed, words=tuple(replace(word, tag=tag) for word, tag in zip(reviewed.words, tags, strict=True))
    )
    tagged = tag_fields([chosen], [Field("f", "12.00")], {"f": AMOUNT})
    assert [word.tag for word in tagged.pages[0].words] == [OUTSIDE, "B-f", OUTSIDE, "B-f", OUTSIDE]
    assert tagged.missing == ()
    unknown = replace(chosen, words=chosen.words[:2])
    assert tag_fields([unknown], [Field("f", "12.00")], {"f": AMOUNT}).missing == ()


def test_words_like_those_of_a_name_that_stands_nowhere_are_not_outside_of_it() -> None:
    tagged = tag_fields([page("GARDENlA OF BHD total")], [Field("f", "GARDENIA BAKERIES OF BHD")], {"f": NAME})
    assert [word.tag for word in tagged.pages[0].words] == [UNKNOWN, OUTSIDE, UNKNOWN, OUTSIDE]
    assert tagged.missing


def test_values_that_contradict_each_other_are_not_tagged() -> None:
    totals = (Field("total", "12.00"), Field("total", "7.50"))
    date, schema = Field("date", "2020-01-02"), {"total": AMOUNT, "date": DATE}
    tagged = tag_fields([page("2020-01-02 subtotal 7.50 total 12.00")], (*totals, date), schema)
    assert [word.tag for word in tagged.pages[0].words] == ["B-date", OUTSIDE, UNKNOWN, OUTSIDE, UNKNOWN]
    assert (tagged.contradictory, tagged.missing) == (totals, ())


def test_values_of_a_field_that_a_person_chose_do_not_contradict_each_other() -> None:
    words = (replace((one := page("7.50 12.00")).words[0], tag="B-total"), replace(one.words[1], tag=OUTSIDE))
    reviewed = replace(one, words=words, provenance=replace(ANNOTATED, words=REVIEWED))
    fields = (Field("total", "12.00"), Field("total", "7.50"))
    assert tag_fields([reviewed], fields, {"total": AMOUNT}).contradictory == ()


def test_of_a_page_that_is_known_in_part_only_answered_fields_are_learnt() -> None:
    texts = ["Shop", "3.50", "sum", "7.50", "copy", "7.50"]
    tags = ["?", "?", "?", "B-total", unknown_but_not(["tip"]), "?"]
    words = tuple(Word(text=text, box=Box(0, 0, 1, 1), tag=tag) for text, tag in zip(texts, tags, strict=True))
    origin = replace(ANNOTATED, words=REVIEWED)
    partial = replace(page(""), words=words, provenance=origin)
    schema = {"total": AMOUNT, "tip": AMOUNT, "shop": FieldType()}

    def tags_of(schema: dict[str, FieldType], *fields: Field) -> list[str | None]:
        return [word.tag for word in tag_fields([partial], fields, schema).pages[0].words]

    no_total, neither = unknown_but_not(["total"]), unknown_but_not(["total", "tip"])
    assert tags_of(schema, Field("total", "7.50")) == [no_total, no_total, no_total, "B-total", neither, "B-total"]
    several = schema | {"total": replace(AMOUNT, many=True)}
    assert tags_of(several, Field("total", "7.50"))[:3] == ["?", "?", "?"], "there may be another one"
    misread = tags_of(schema, Field("total", "7.50"), Field("shop", "Elsewhere"))
    assert misread[0] == no_total, "a value that stands nowhere rules nothing out"


def test_a_mark_is_tagged_by_its_tag_or_its_label_not_by_its_state() -> None:
    kind = FieldType(type="mark")
    places = {"☑": 0, "Smoker": 1, "☐": 6, "Married": 7, "☑2": 10, "Urgent": 11}
    words = [
        Word(text=text.removesuffix("2"), box=Box(0.05 * at, 0.1, 0.05 * at + 0.03, 0.2), tag="O")
        for text, at in places.items()
    ]
    one = replace(page(""), words=tuple(words))
    values = [Field("smoker", "on"), Field("Married", "off"), Field("urgent", "off")]
    schema = {field.name: kind for field in values}
    tagged = tag_fields([one], values, schema)
    assert [word.tag for word in tagged.pages[0].words] == ["B-smoker", "O", "B-Married", "O", "?", "O"]
    assert tagged.missing == (values[2],)
    words[4] = replace(words[4], tag="B-urgent")
    words[1] = replace(words[1], text="Smoking?")
    tagged = tag_fields([replace(one, words=tuple(words))], values, schema)
    assert [word.tag for word in tagged.pages[0].words] == ["B-smoker", "O", "B-Married", "O", "B-urgent", "O"]
    assert not tagged.missing
