"""A row of an EXAMPLES table as arrays is the row that was written."""

from typing import Any

import pyarrow as pa
import pytest

from layoutray.batching.examples import ExampleSet, TableBlocks, unlabelled
from layoutray.store.schema import EXAMPLES
from tests.jobs import page, vocabulary


def row(number: int, labels: list[int] | None) -> dict[str, Any]:
    length = number + 2
    return {
        "doc_id": f"d{number}",
        "page": number,
        "window": 0,
        "split": "train",
        "input_ids": list(range(number, number + length)),
        "boxes": [[token, token + 1, token + 2, token + 3] for token in range(length)],
        "word_index": [-1, *range(length - 2), -1],
        "neighbours": [[word - 1, *range(number, number + 7)] for word in range(length - 2)],
        "page_width": 100 + number,
        "page_height": 200,
        "labels": labels and labels * length,
    }


def assert_same(examples: ExampleSet, rows: list[dict[str, Any]]) -> None:
    assert len(examples) == len(rows)
    for example, expected in zip(examples, rows, strict=True):
        assert (example.doc_id, example.page, example.window) == (expected["doc_id"], expected["page"], 0)
        assert example.input_ids.tolist() == expected["input_ids"]
        assert example.boxes.tolist() == expected["boxes"]
        assert example.word_index.tolist() == expected["word_index"]
        assert example.neighbours.tolist() == expected["neighbours"]
        assert example.page_size == (expected["page_width"], 200)
        assert (None if example.labels is None else example.labels.tolist()) == expected["labels"]
    assert examples.lengths.tolist() == [len(expected["input_ids"]) for expected in rows]


@pytest.mark.parametrize("labels", [None, [4], [4, 5]], ids=["none", "one a token", "of another length"])
def test_rows_come_back_whole_sliced_and_in_chunks(labels: list[int] | None) -> None:
    rows = [row(number, labels) for number in range(7)]
    table = pa.Table.from_pylist(rows, schema=EXAMPLES)
    assert_same(ExampleSet(TableBlocks(table)), rows)
    assert_same(ExampleSet(TableBlocks(table.slice(2, 3))), rows[2:5])
    assert_same(ExampleSet(TableBlocks(pa.concat_tables([table.slice(5), table.slice(0, 2)]))), rows[5:] + rows[:2])


def test_windows_of_a_page_know_its_size() -> None:
    shown = page(3)
    windows = unlabelled(shown, vocabulary(), 12)
    assert len(windows) > 1
    assert {one.page_size for one in windows} == {(shown.width, shown.height)} == {(600, 800)}


def test_an_empty_table_is_an_empty_set() -> None:
    assert_same(ExampleSet(TableBlocks(EXAMPLES.empty_table())), [])
