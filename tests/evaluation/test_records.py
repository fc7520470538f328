"""Records of entities are scored against the groups of an annotation."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from layoutray.document import Box, Field, Page, Provenance, Word
from layoutray.document.answers import Entity
from layoutray.document.field_type import FieldType
from layoutray.document.record_type import RecordType
from layoutray.evaluation.records import score_documents, score_records
from layoutray.tasks.entities import Entities
from layoutray.tasks.records import find_records

SCHEMA = {"items": RecordType(("menu.nm", "menu.price"))}
TASK = Entities()


def page(*rows: tuple[str, str]) -> Page:
    """Rows of a name and a price, each of which is a record, and a total below them."""
    cells = [
        Word(text=text, box=Box(x, 0.1 * row, x + 0.1, 0.1 * row + 0.05), line=row, tag=f"B-{kind}", group=row)
        for row, (name, price) in enumerate(rows)
        for text, x, kind in ((name, 0.1, "menu.nm"), (price, 0.5, "menu.price"))
    ]
    total = Word(text="9.00", box=Box(0.5, 0.9, 0.6, 0.95), line=99, tag="B-total.total_price", group=99)
    return Page(
        doc_id="a",
        number=1,
        width=800,
        height=800,
        words=(*cells, total),
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="made up"),
    )


def entities(one: Page) -> tuple[Entity, ...]:
    return TASK.entities_from_tags(one, [word.tag for word in one.words], [1.0] * len(one.words))


def score(one: Page, found: Sequence[Entity]) -> dict[str, float]:
    return score_records([one], TASK, SCHEMA, lambda pages: [found for _ in pages])


def test_all_entities_in_their_rows_are_perfect() -> None:
    one = page(("tea", "2.00"), ("milk", "1.00"))
    metrics = score(one, entities(one))
    assert metrics.pop("record_support") == 2
    assert set(metrics.values()) == {1.0}


def test_a_missed_price_costs_its_record_and_one_field() -> None:
    one = page(("tea", "2.00"), ("milk", "1.00"))
    found = [entity for entity in entities(one) if entity.content != "1.00"]
    metrics = score(one, found)
    assert metrics["record_f1"] == 0.5
    assert metrics["record_field_f1"] == metrics["record_ungrouped_f1"] == pytest.approx(6 / 7)
    # The true tree: items, two groups, four names, 3 + 4 + 4 + 4 characters; a group and a name of `total`, 4 more.
    size = 1 + 2 + 4 + 15 + (3 + 4)
    assert metrics["tree_edit_accuracy"] == pytest.approx(1 - (1 + 4) / size)


def test_a_price_in_the_wrong_record_costs_fields_that_are_right_without_groups() -> None:
    one = page(("tea", "2.00"), ("milk", "1.00"))
    swapped = replace(
        one, words=tuple(replace(word, group={0: 1, 2: 1}.get(at, 0)) for at, word in enumerate(one.words))
    )
    metrics = score(swapped, entities(swapped))
    assert (metrics["record_f1"], metrics["record_ungrouped_f1"]) == (0.0, 1.0)
    assert metrics["record_field_f1"] == 0.5


def test_values_of_documents_are_compared_by_their_normal_forms() -> None:
    one = page(("tea", "2.00"), ("milk", "1.00"))
    answered = {"a": find_records([one], [entities(one)], SCHEMA), "b": ()}
    row = {row: ("items", row) for row in (1, 2)}
    expected = {
        "a": {
            row[1]: [Field("menu.nm", "TEA", 1), Field("menu.price", "2", 1)],
            row[2]: [Field("menu.nm", "milk", 2), Field("menu.price", "1.50", 2)],
        },
        "b": {row[1]: [Field("menu.nm", "rusk", 1)]},
    }
    types = {"menu.nm": FieldType(type="text"), "menu.price": FieldType(type="amount")}
    metrics = score_documents(expected, answered, types)
    assert (metrics["record_precision"], metrics["record_recall"]) == (0.5, pytest.approx(1 / 3))
    assert metrics["record_field_f1"] == pytest.approx(2 * 3 / (4 + 5))
    assert "tree_edit_accuracy" not in metrics


def test_without_pages_or_true_records_there_are_no_scores() -> None:
    one = page()
    assert score_records([], TASK, SCHEMA, lambda pages: []) == {}
    assert score_records([one], TASK, SCHEMA, lambda pages: [entities(one)]) == {}
