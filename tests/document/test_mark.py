"""Fields that are marks: the mark in the line of a label."""

import pytest

from layoutray.document import Box, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.document.mark import Marks, labelled_marks
from layoutray.document.normal_form import normal_form
from layoutray.document.page import OFF, ON
from layoutray.readers.annotation import ANNOTATED
from layoutray.tasks.entities import Entities


def page(*lines: str) -> Page:
    """A page whose words have ten pixels a letter; two blanks are a wide gap."""
    words = [
        Word(
            text=text,
            box=Box.from_pixels((10 * at, 40 * row, 10 * (at + len(text)), 40 * row + 20), 1000, 1000),
            line=row,
        )
        for row, line in enumerate(lines)
        for at, text in _placed(line)
    ]
    return Page(
        doc_id="d",
        number=1,
        width=1000,
        height=1000,
        words=tuple(words),
        source="d",
        image="",
        split="train",
        provenance=ANNOTATED,
    )


def _placed(line: str) -> list[tuple[int, str]]:
    found, at = [], 0
    for text in line.split(" "):
        if text:
            found.append((at, text))
        at += len(text) + 1 if text else 10
    return found


FORM = page(f"{ON} Smoker {OFF} Married", f"Urgent {ON}  Insured: {OFF}", f"Terms {OFF} yes {ON} no", f"{OFF} yes")


@pytest.mark.parametrize(
    ("label", "place"),
    [("smoker", 0), ("married", 2), ("urgent", 5), ("Insured", 7), ("no", 11), ("yes", None), ("other", None)],
)
def test_a_mark_is_found_by_its_label_if_that_is_the_only_one(label: str, place: int | None) -> None:
    found = Marks(FORM).labelled(label)
    assert (found and found[0]) == place


def test_the_description_is_the_label_and_the_box_the_answer() -> None:
    schema = {
        "cigars": FieldType(type="mark", description="Smoker"),
        "married": FieldType(type="mark"),
        "no": FieldType(),
    }
    found = [*labelled_marks(FORM, schema)]
    assert [(one.type, one.content, one.words, one.confidence) for one in found] == [
        ("cigars", ON, (0,), 1.0),
        ("married", OFF, (2,), 1.0),
    ]
    assert found[0].bounding_regions[0].polygon[:3] == (0, 0, 10)


def test_the_entity_of_a_mark_is_the_box_in_the_line_of_its_words() -> None:
    task = Entities(fields={"urgent": FieldType(type="mark"), "married": FieldType(type="mark")})
    tags = ["B-urgent" if word.text == "Urgent" else "O" for word in FORM.words]
    tags[2:4] = ["B-married", "I-married"]
    found = task.entities_from_tags(FORM, tags, [0.9] * len(tags))
    assert [(one.type, one.content, one.words) for one in found] == [("married", OFF, (2,)), ("urgent", ON, (5,))]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (ON, "on"),
        (OFF, "off"),
        ("On", "on"),
        ("off", "off"),
        ("X", "on"),
        ("(x)", "on"),
        ("[ ]", "off"),
        ("no", None),
        ("()x", None),
    ],
)
def test_normal_forms_of_marks(text: str, form: str | None) -> None:
    assert normal_form(text, FieldType(type="mark")) == form
