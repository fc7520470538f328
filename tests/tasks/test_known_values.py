"""Files of known values: read once, kept in the checkpoint, and refused with the place of a mistake."""

from pathlib import Path

import pytest

from layoutray.document.answers import Entity, Region
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError
from layoutray.tasks.entities_bioes import EntitiesBioes
from layoutray.tasks.field_answers import field_answers
from layoutray.tasks.known_values import with_known_values


def vendors(folder: Path, content: str | bytes) -> FieldType:
    file = folder / "vendors.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return FieldType(type="name", known=str(file))


def entity(content: str, confidence: float) -> Entity:
    return Entity(
        type="vendor", content=content, confidence=confidence, bounding_regions=(Region(1, (0.0,) * 8),), words=(0,)
    )


def test_a_task_keeps_the_values_of_the_file(tmp_path: Path) -> None:
    field = vendors(tmp_path, '\ufeffRestoran Wan Sheng,1\n\n"Tan, Woon Yann"\nRestoran Wan Sheng\n')
    task = EntitiesBioes(fields={"vendor": field})
    assert task.fields["vendor"].known_values == ("Restoran Wan Sheng", "Tan, Woon Yann")
    Path(field.known).unlink()
    assert EntitiesBioes(fields=task.fields) == task, "a loaded checkpoint does not need the file"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has 0 values; it must have 1 to 100000"),
        ("A\n---\n...\n", "row 3 of .* is '...', which has no letter or digit"),
        (b"caf\xe9\n", "cannot be read as a CSV file in UTF-8"),
        ('"' + "A" * 200_000, "is not CSV: field larger than field limit"),
    ],
)
def test_a_file_with_a_mistake_is_refused(content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"task\.fields\.vendor\.known.*{message}"):
        with_known_values({"vendor": vendors(tmp_path, content)})


def test_a_missing_file_and_a_type_without_known_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        with_known_values({"vendor": FieldType(type="name", known=str(tmp_path / "none.csv"))})
    with pytest.raises(InputError, match="the type is date; it must be text, name, address"):
        with_known_values({"day": FieldType(type="date", known="days.csv")})


def test_misread_occurrences_of_a_known_value_are_one_answer_with_both_texts() -> None:
    schema = {"vendor": FieldType(type="name", known_values=("Restoran Wan Sheng",))}
    (answer,) = field_answers([entity("RSTORAN WAN SHENG", 0.5), entity("Restoran Wan Shen6", 0.25)], schema)
    assert (answer.value, answer.content) == ("RESTORAN WAN SHENG", "RSTORAN WAN SHENG")
    assert (answer.known_value, answer.score) == ("Restoran Wan Sheng", 0.75)
    (stranger,) = field_answers([entity("Kedai Ubat", 0.5)], schema)
    assert (stranger.value, stranger.known_value) == ("KEDAI UBAT", None)
