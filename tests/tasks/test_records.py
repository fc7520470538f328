"""The entities of a page are grouped into records by where they stand."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from layoutray.document import Box, Page, Provenance, Word
from layoutray.document.answers import Entity
from layoutray.document.record_type import RecordType
from layoutray.errors import InputError, RecipeError
from layoutray.recipe import recipes
from layoutray.tasks import records_of
from layoutray.tasks.entities import Entities
from layoutray.tasks.records import check_records, find_records, true_records

ITEMS = {"items": RecordType(("name", "count", "price", "extra"))}
WIDTH, HEIGHT = 800, 1000
HIGH = 20

Cell = tuple[str, str, float, float]
"""Type (empty for none), text, and the position of its left top in pixels."""


def page(cells: Sequence[Cell], *, degrees: float = 0.0, groups: Sequence[int | None] | None = None) -> Page:
    """A page turned clockwise about its top left. Each cell is a line of its own: the engine knows no rows."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    words: list[Word] = []
    for number, (kind, text, left, top) in enumerate(cells):
        for index, part in enumerate(text.split()):
            x, y = left + 60 * index, top
            x, y = x * cosine - y * sine + 100, x * sine + y * cosine
            box = Box(x / WIDTH, y / HEIGHT, (x + 50) / WIDTH, (y + HIGH) / HEIGHT)
            tag = f"{'I' if index else 'B'}-{kind}" if kind else "O"
            words.append(Word(text=part, box=box, line=number, tag=tag, group=groups[number] if groups else None))
    return Page(
        doc_id="a" * 64,
        number=3,
        width=WIDTH,
        height=HEIGHT,
        words=tuple(words),
        source="",
        image="",
        split="",
        provenance=Provenance(words="annotation", reason="made up"),
    )


def entities(one: Page) -> tuple[Entity, ...]:
    return Entities().entities_from_tags(one, [word.tag for word in one.words], [0.9] * len(one.words))


def found(cells: Sequence[Cell], *, degrees: float = 0.0) -> list[str]:
    """The contents of each record, in the order of the recipe."""
    one = page(cells, degrees=degrees)
    return [
        "|".join(entity.content for entity in record.fields) for record in find_records([one], [entities(one)], ITEMS)
    ]


def table(rows: int, step: float = 30) -> list[Cell]:
    return [
        cell
        for row in range(rows)
        for cell in (
            ("price", f"{row}.00", 500, 50 + step * row),
            ("name", f"thing no{row}", 0, 50 + step * row),
            ("count", f"{row}x", 300, 50 + step * row),
        )
    ]


def test_each_row_of_a_table_is_a_record_whatever_the_order_of_the_words() -> None:
    assert found(table(3)) == ["thing no0|0x|0.00", "thing no1|1x|1.00", "thing no2|2x|2.00"]


@pytest.mark.parametrize("degrees", [-4.0, 4.0])
def test_a_skewed_page_has_the_same_records(degrees: float) -> None:
    # At 4 degrees the price is 35 pixels below or above its name: in the next row of the page.
    assert found(table(6), degrees=degrees) == found(table(6))


def test_rows_below_a_key_belong_to_its_record() -> None:
    cells = [
        ("name", "tea", 0, 50),
        ("count", "2x", 0, 80),
        ("price", "4.00", 500, 80),
        ("extra", "hot", 20, 110),
        ("extra", "sweet", 20, 140),
        ("name", "milk", 0, 170),
        ("count", "1x", 0, 200),
        ("price", "1.00", 500, 200),
    ]
    assert found(cells) == ["tea|2x|4.00|hot|sweet", "milk|1x|1.00"]


def test_rows_above_a_key_belong_to_its_record_where_the_layout_prints_them_there() -> None:
    cells = [
        cell
        for row, name in enumerate(("tea", "milk", "rusk"))
        for cell in (
            ("count", f"{row}x", 0, 50 + 100 * row),
            ("name", name, 0, 80 + 100 * row),
            ("price", f"{row}.00", 500, 80 + 100 * row),
            ("extra", f"less{row}", 20, 110 + 100 * row),
        )
    ]
    assert found(cells) == ["tea|0x|0.00|less0", "milk|1x|1.00|less1", "rusk|2x|2.00|less2"]


def test_a_wrapped_name_is_in_the_row_of_its_first_line() -> None:
    one = page([("price", "4.00", 500, 50), ("name", "tea", 0, 50), ("price", "1.00", 500, 110), ("name", "x", 0, 110)])
    first, second = one.words[1], Word(text="of mint", box=Box(0.125, 0.085, 0.2, 0.105), line=9, tag="I-name")
    wrapped = replace(one, words=(one.words[0], first, second, *one.words[2:]))
    assert [record.fields[0].content for record in find_records([wrapped], [entities(wrapped)], ITEMS)] == [
        "tea of mint",
        "x",
    ]
    assert [len(record.fields) for record in find_records([wrapped], [entities(wrapped)], ITEMS)] == [2, 2]


def test_records_that_stand_side_by_side_are_divided() -> None:
    cells = [
        cell
        for row in (0, 1)
        for left in (0, 300)
        for cell in (
            ("count", f"{row}x{left}", left, 50 + 30 * row),
            ("name", f"n{row}{left}", left + 60, 50 + 30 * row),
            ("price", f"{row}.{left}", left + 160, 50 + 30 * row),
        )
    ]
    assert found(cells) == ["n00|0x0|0.0", "n0300|0x300|0.300", "n10|1x0|1.0", "n1300|1x300|1.300"]


def test_without_the_key_the_next_field_of_the_recipe_begins_records() -> None:
    assert found([cell for cell in table(2) if cell[0] != "name"]) == ["0x|0.00", "1x|1.00"]


def test_a_record_has_page_row_and_lowest_confidence_and_other_entities_are_in_none() -> None:
    one = page([*table(2), ("total", "9.00", 500, 300)])
    tags, confidences = [word.tag for word in one.words], [0.9, 0.8, 0.8, 0.7, *[0.6] * (len(one.words) - 4)]
    records = find_records([one], [Entities().entities_from_tags(one, tags, confidences)], ITEMS)
    assert [(record.name, record.page_number, record.row) for record in records] == [("items", 3, 1), ("items", 3, 2)]
    assert records[0].confidence == pytest.approx(0.7)
    assert all(entity.type != "total" for record in records for entity in record.fields)
    assert records[0].fields[0].bounding_regions[0].page_number == 3


def test_no_entities_and_no_schema_give_no_records() -> None:
    one = page(table(2))
    assert find_records([one], [()], ITEMS) == ()
    assert find_records([one], [entities(one)], {}) == ()


def test_true_records_follow_the_groups_of_the_annotation() -> None:
    one = page(table(2), groups=[7, 7, 7, 5, 7, None])
    assert [[entity.content for entity in record.fields] for record in true_records([one], [entities(one)], ITEMS)] == [
        ["thing no0", "thing no1", "0x", "0.00"],
        ["1.00"],
        ["1x"],
    ]


def test_an_entity_with_words_of_two_groups_is_in_that_of_its_first_word() -> None:
    one = page([("name", "tea", 0, 50), ("name", "milk", 0, 80)], groups=[1, 2])
    joined = replace(one, words=(one.words[0], Word(text="x", box=one.words[1].box, tag="I-name", group=2)))
    (record,) = true_records([joined], [entities(joined)], ITEMS)
    assert record.fields[0].content == "tea x"


@pytest.mark.parametrize(
    ("fields", "problem"), [((), "at least one"), (("a", " "), "no name is empty"), (("a", "b", "a"), "a twice")]
)
def test_bad_record_types_are_refused(fields: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        RecordType(fields)


def test_bad_schemas_are_refused() -> None:
    with pytest.raises(InputError, match=r"price is a field of task.records.a and of task.records.b"):
        check_records({"a": RecordType(("name", "price")), "b": RecordType(("price",))})
    with pytest.raises(InputError, match=r"has 'naem'; there are only name, price"):
        check_records({"a": RecordType(("naem",))}, ("price", "name"))
    with pytest.raises(InputError, match="without a name"):
        check_records({"": RecordType(("name",))})


def test_a_recipe_names_records_and_a_checkpoint_without_them_still_loads() -> None:
    values = recipes.load("finetune-cord").to_dict()
    del values["task"]["records"]
    assert records_of(recipes.from_stored(values).task) == {}
    made = recipes.from_dict({**values, "task": {"name": "entities", "records": {"items": {"fields": ["a", "b"]}}}})
    assert recipes.from_stored(made.to_dict()) == made
    with pytest.raises(RecipeError, match="at least one"):
        recipes.from_dict({**values, "task": {"name": "entities", "records": {"items": {"fields": []}}}})
    with pytest.raises(InputError, match="has 'b'; there are only a"):
        made.task.label_names([["B-a"]])  # pyright: ignore[reportAttributeAccessIssue]
