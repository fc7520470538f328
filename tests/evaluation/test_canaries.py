"""What another version would change in the answers to one document."""

from collections.abc import Sequence

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
