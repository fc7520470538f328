"""Fields that are signatures: whether a label has a signature beside, above or below it."""

import pytest

from layoutray.document import Field
from layoutray.document.field_type import FieldType
from layoutray.document.normal_form import normal_form
from layoutray.document.page import SIGNED, UNSIGNED
from layoutray.document.signature import signatures
from layoutray.prepare.tag_fields import tag_fields
from tests.document.test_mark import page

SIGNATURE = {"signature": FieldType(type="signature", many=True)}


@pytest.mark.parametrize(
    ("lines", "states"),
    [
        ([f"Signature: {SIGNED}  Date:"], [SIGNED]),
        (["Signature:  Date: 12/12/2020"], [UNSIGNED]),
        ([f"Signature:  Date:  {SIGNED}"], [UNSIGNED]),
        ([SIGNED, "Unterschrift"], [SIGNED]),
        (["By:", f" {SIGNED}"], [SIGNED]),
        ([f"By: {SIGNED}", "", "", "By:"], [SIGNED, UNSIGNED]),
        ([f"The signature of this agreement takes place in May {SIGNED}"], []),
        ([f"Name: {SIGNED}", "paid by us"], []),
    ],
)
def test_a_label_is_signed_by_the_signature_beside_it_above_or_below(lines: list[str], states: list[str]) -> None:
    found = [*signatures(page(*lines), SIGNATURE)]
    assert sorted(one.content for one in found) == sorted(states)
    assert all(one.bounding_regions for one in found)


def test_a_description_selects_the_label() -> None:
    tenant = {"one": FieldType(type="signature", description="Tenant"), "other": FieldType(type="mark")}
    one = page(f"Signature of landlord {SIGNED}", "", "", "Signature of tenant")
    assert [(found.type, found.content, found.words) for found in signatures(one, tenant)] == [
        ("one", UNSIGNED, (4, 5, 6))
    ]


def test_values_of_signatures_are_not_searched_in_a_training() -> None:
    tagged = tag_fields([page(f"Signature: {SIGNED}")], [Field("signature", "signed")], SIGNATURE)
    assert not tagged.missing
    assert {word.tag for word in tagged.pages[0].words} == {"O"}


@pytest.mark.parametrize(
    ("text", "form"), [(SIGNED, "signed"), ("Signed", "signed"), (UNSIGNED, "unsigned"), ("no", None)]
)
def test_normal_forms_of_signatures(text: str, form: str | None) -> None:
    assert normal_form(text, FieldType(type="signature")) == form
