"""The kind of labelled documents in a folder."""

import json
from pathlib import Path

import pytest

from layoutray.errors import InputError
from layoutray.readers.labelled_folder import reader_of

TASKS = json.dumps([{"id": 1, "data": {}, "annotations": []}])


@pytest.mark.parametrize(
    ("file", "content", "reader"),
    [
        ("values.csv", "", "values"),
        ("2024/values.jsonl", "", "values"),
        ("review.db", "", "reviewed"),
        ("reviewed (1).jsonl", "", "reviewed"),
        ("project-1.json", TASKS, "label_studio"),
    ],
)
def test_a_reader_is_known_by_its_files(tmp_path: Path, file: str, content: str, reader: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(content)
    (tmp_path / "a.json").write_text('{"total": 1}')
    (tmp_path / "b.json").write_text("not JSON")
    assert reader_of(str(tmp_path)) == reader


def test_a_folder_without_labels_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").touch()
    with pytest.raises(
        InputError, match=r"looked among its 1 files for values.csv or .*review.db .*Label Studio export"
    ):
        reader_of(str(tmp_path))
    with pytest.raises(InputError, match="nowhere does not exist; looked among its 0 files"):
        reader_of(str(tmp_path / "nowhere"))


def test_a_folder_of_two_kinds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "values.csv").touch()
    (tmp_path / "review.db").touch()
    with pytest.raises(InputError, match="files of several kinds: values, reviewed"):
        reader_of(str(tmp_path))
