"""Tagging is scored against the annotation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.commands.tagging import main
from benchmarks.measure.tagging import score_tagging
from layoutray.document import Box, Page, Word
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError
from layoutray.metrics.item_counts import ItemCounts
from layoutray.readers.annotation import ANNOTATED
from layoutray.store import codec, shards

SCHEMA = {"total": FieldType(type="amount"), "shop": FieldType(type="name")}


def page(doc_id: str, *words: tuple[str, str | None]) -> Page:
    return Page(
        doc_id=doc_id,
        number=1,
        width=100,
        height=100,
        words=tuple(Word(text=text, box=Box(0, 0, 1, 1), tag=tag) for text, tag in words),
        source=doc_id,
        image="",
        split="train",
        provenance=ANNOTATED,
    )


RECEIPT = page(
    "a",
    ("Corner", "B-shop"),
    ("Bakery", "I-shop"),
    ("Bread", "O"),
    ("4.50", "O"),
    ("Total", "O"),
    ("4.50", "B-total"),
    ("Klang", "B-town"),
)


def test_a_value_with_a_second_occurrence_lowers_precision() -> None:
    found = score_tagging([RECEIPT], [RECEIPT], SCHEMA)
    assert (found.values, found.missing) == (2, 0)
    assert found.words["shop"] == ItemCounts(2, 2, 2)
    assert found.words["total"] == ItemCounts(1, 1, 2)
    assert found.words["all"] == ItemCounts(3, 3, 4)


def test_misread_values_are_found_by_similarity_or_missing() -> None:
    words = [
        replace(word, text={"Corner": "Comer", "4.50": "A.SO"}.get(word.text, word.text)) for word in RECEIPT.words
    ]
    found = score_tagging(
        [replace(RECEIPT, words=tuple(words)), page("unknown", ("9.90", "B-total"))], [RECEIPT], SCHEMA
    )
    assert (found.values, found.missing) == (2, 1)
    assert found.words["shop"] == ItemCounts(2, 2, 2)
    assert found.words["total"] == ItemCounts(0, 1, 0)


def test_the_command_scores_a_folder_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shards.write(codec.pages_table([RECEIPT], ["a"]), str(tmp_path / "pages" / "pages"), "part-0.parquet")
    assert main(["pages", "--field", "total=amount", "--field", "shop=name"]) == 0
    assert json.loads(capsys.readouterr().out)["words"]["total"] == [1, 1, 2], "correct, expected, tagged"
    with pytest.raises(InputError, match="pages has no entities price; it has shop, total, town"):
        main(["pages", "--field", "price=amount"])
    with pytest.raises(InputError, match="--field is 'total'; it must be ENTITY=TYPE"):
        main(["pages", "--field", "total"])
    with pytest.raises(InputError, match="number"):
        main(["pages", "--field", "total=number"])
