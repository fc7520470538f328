"""What another version would change in the answers to one document."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from layoutray.document import Document, Field
from layoutray.document.field_type import FieldType
from layoutray.evaluation.canaries import Canary, compared
from layoutray.review.values import Prediction, Stated

SCHEMA = {"total": FieldType(type="amount"), "vendor": FieldType(), "party": FieldType(many=True)}
Said = Sequence[tuple[str, str] | tuple[str, str, bool]]


def document(*fields: Field, partial: bool = False, from_model: str = "") -> Document:
    return Document(
        doc_id="d", source="a/d.pdf", split="train", num_pages=1, fields=fields, partial=partial, from_model=from_model
    )


def said(name: str, value: str, accepted: bool = False) -> Prediction:
    return Prediction(
        name=name, text=value, value=value, confidence=0.5, accepted=accepted, page=1, words=(1,), polygons=()
    )


def outcomes(before: Said, after: Said, of: Document) -> list[str]:
    found = compared([said(*one) for one in before], [said(*one) for one in after], of, SCHEMA)
    return [one.outcome for one in found]


TRUE = document(Field("total", "12.00"), Field("party", "Eve"), Field("party", "Bob"))


@pytest.mark.parametrize(
    ("before", "after", "of", "expected"),
    [
        ([("total", "12.00")], [("total", "12")], document(), ["same"]),
        ([("total", "12", True)], [("total", "12")], document(), ["not accepted"]),
        ([("total", "12")], [("total", "12", True)], TRUE, ["accepted"]),
        ([("total", "12")], [("total", "13")], document(), ["changed"]),
        ([("total", "12")], [], document(), ["lost"]),
        ([], [("total", "12")], document(), ["new"]),
        ([("total", "12")], [("total", "13")], TRUE, ["broken"]),
        ([("total", "13")], [("total", "12.00")], TRUE, ["mended"]),
        ([("total", "13")], [("total", "14")], TRUE, ["changed"]),
        ([("total", "12")], [], TRUE, ["broken"]),
        ([], [("vendor", "Acme")], TRUE, ["broken"]),
        ([("vendor", "Acme")], [], TRUE, ["mended"]),
        ([("party", "Bob"), ("party", "Tom")], [("party", "Eve"), ("party", "Bob")], TRUE, ["same", "mended"]),
        ([("party", "Bob"), ("party", "Eve"), ("party", "Tom")], [("party", "Eve"), ("party", "Bob")], TRUE, None),
        ([("item", "tea"), ("item", "tea")], [("item", "tea")], TRUE, ["same", "lost"]),
        ([], [("vendor", "Acme")], document(Field("total", "1"), partial=True), ["new"]),
        ([("total", "2")], [("total", "1")], document(Field("total", "1"), partial=True), ["mended"]),
        ([("total", "2")], [("total", "1")], document(Field("total", "1"), from_model="big"), ["changed"]),
    ],
)
def test_outcomes(before: Said, after: Said, of: Document, expected: list[str] | None) -> None:
    assert outcomes(before, after, of) == (expected or ["same", "same", "mended"])


def test_values_of_records_are_compared_in_their_record_and_stay_there() -> None:
    def records(*texts: tuple[str, str]) -> list[Prediction]:
        """Name and price of each record, whose words are those of their line on the page."""
        return [
            replace(said(name, text), words=(lines.index(texts[row][0]) * 2 + word,), row=f"items/1/{row + 1}")
            for row in range(len(texts))
            for word, (name, text) in enumerate(zip(("item", "price"), texts[row], strict=True))
            if text
        ]

    tea, coffee, cake = ("tea", "1"), ("coffee", "1"), ("cake", "2")
    lines = ["tea", "coffee", "cake", "ham"]
    canary = Canary(
        document(), (), [*compared(records(tea, coffee, cake), records(coffee, ("cake", "")), document(), {})]
    )
    shown = canary.for_review("forms", "1", "2").said
    assert {(one.row, one.name, one.text, one.stated.text if one.stated else None) for one in shown} == {
        ("items/1/1", "item", "coffee", None),
        ("items/1/1", "price", "1", None),
        ("items/1/2", "item", "cake", None),
        ("items/1/2", "price", "", "2"),
        ("items/1/3", "item", "", "tea"),
        ("items/1/3", "price", "", "1"),
    }
    more = [*compared(records(coffee), records(tea, coffee, ("ham", "1")), document(), {})]
    assert sorted((one.outcome, one.after.row) for one in more if one.after) == [
        ("new", "items/1/1"),
        ("new", "items/1/1"),
        ("new", "items/1/3"),
        ("new", "items/1/3"),
        ("same", "items/1/2"),
        ("same", "items/1/2"),
    ]


def test_the_review_shows_what_the_champion_has_answered_instead() -> None:
    before, after = [said("total", "12"), said("vendor", "Acme")], [said("total", "13"), said("party", "Bob")]
    answers = [*compared([*before, said("party", "Bob")], after, document(), SCHEMA)]
    canary = Canary(document(), (), answers)
    assert [one.name for one in canary.differences] == ["total", "vendor"]
    shown = {one.name: one for one in canary.for_review("forms", "1", "2").said}
    assert shown["total"].text == "13"
    assert shown["total"].stated == Stated(by="version 1", text="12", page=1, words=(1,))
    assert shown["vendor"].text == ""
    assert shown["vendor"].stated
    assert shown["vendor"].stated.text == "Acme"
    assert [shown[name].needs_look for name in ("total", "vendor", "party")] == [True, True, False]
