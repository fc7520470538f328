"""Parquet in the convention of LayoutLM, from the package datasets and from elsewhere."""

import io
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from layoutray.document import Box
from layoutray.errors import LayoutrayError
from layoutray.formats.layoutlm import schema
from layoutray.readers import load

READER = load("layoutlm")


def test_a_data_set_of_the_package_datasets_is_read(tmp_path: Path) -> None:
    features = datasets.Features(
        {
            "tokens": datasets.List(datasets.Value("string")),
            "bboxes": datasets.List(datasets.List(datasets.Value("int64"))),
            "ner_tags": datasets.List(datasets.ClassLabel(names=["O", "B-date"])),
            "image": datasets.Image(),
        }
    )
    sink = io.BytesIO()
    Image.new("L", (300, 200)).save(sink, "PNG")
    row = {"tokens": ["Date", "1.2."], "bboxes": [[0, 0, 100, 50], [0, 60, 1000, 90]], "ner_tags": [0, 1]}
    rows = [row | {"image": {"bytes": sink.getvalue(), "path": None}}, row | {"image": None}]
    datasets.Dataset.from_list(rows, features=features).to_parquet(str(tmp_path / "train-00000-of-00001.parquet"))
    first, second = [READER.read(item).pages[0] for item in READER.discover(str(tmp_path))]
    assert (first.width, first.height, second.width, second.height) == (300, 200, 1000, 1000)
    assert first.doc_id != second.doc_id
    assert [(word.text, word.tag, word.line) for word in first.words] == [("Date", "O", 0), ("1.2.", "B-date", 1)]
    assert first.words[1].box == Box(0, 0.06, 1, 0.09)


def test_a_folder_without_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LayoutrayError, match=r"expected \{train,validation,test\}\*\.parquet"):
        list(READER.discover(str(tmp_path)))


def test_tags_without_names_are_refused(tmp_path: Path) -> None:
    table = pa.table({"tokens": [["a"]], "bboxes": [[[0, 0, 1, 1]]], "ner_tags": [[0]]})
    pq.write_table(table, tmp_path / "train.parquet")
    with pytest.raises(LayoutrayError, match="does not name its tags"):
        list(READER.discover(str(tmp_path)))
    pq.write_table(table.drop_columns("bboxes"), tmp_path / "train.parquet")
    with pytest.raises(LayoutrayError, match="lacks the columns bboxes"):
        list(READER.discover(str(tmp_path)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ner_tags": [2]}, "`ner_tags` has 2, but there are 2 names"),
        ({"tokens": None}, "`tokens` is None, expected a list"),
        ({"lines": []}, "`lines` has 0 values, expected 1 integers"),
        ({"bboxes": []}, "has 1 words, but not as many boxes and tags"),
        ({"bboxes": [[0, 0, 9, 2000]]}, None),
    ],
)
def test_malformed_rows_are_refused(changes: dict[str, Any], message: str | None, tmp_path: Path) -> None:
    """A box that reaches over the edge is cut and counted, as everywhere."""
    whole = {"id": "d-1", "tokens": ["a"], "bboxes": [[0, 0, 1, 1]], "ner_tags": [1], "lines": [0], "blocks": [0]}
    row = whole | {"doc_id": "d", "source": "d.png", "page": 1, "num_pages": 1, "width": 9, "height": 9} | changes
    pq.write_table(pa.Table.from_pylist([row], schema=schema(["O", "B-x"])), tmp_path / "test.parquet")
    if message is None:
        (item,) = READER.discover(str(tmp_path))
        assert READER.read(item).repairs == 1
        return
    with pytest.raises(LayoutrayError, match=message):
        [READER.read(item) for item in READER.discover(str(tmp_path))]
