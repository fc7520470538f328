import os
from pathlib import Path

import pytest

from benchmarks.measure.environment import environment
from benchmarks.measure.object_store import folder_store, listed_store
from layoutray.errors import DocumentError
from layoutray.prepare.discovery import find_documents
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store import sources


def test_the_given_number_of_keys_is_listed() -> None:
    with listed_store(2345) as root:
        listed = list(sources.list_files(root))
        found = find_documents(root, IngestRecipe(reader="folder"))
    assert listed[0] == f"{root}/000000000000.png"
    assert len(set(listed)) == len(found.references) == 2345
    assert listed == sorted(listed)


def test_variables_are_set_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "before")
    monkeypatch.delenv("THEIRS", raising=False)
    with environment({"OURS": "1", "THEIRS": "2"}):
        assert (os.environ["OURS"], os.environ["THEIRS"]) == ("1", "2")
    assert os.environ["OURS"] == "before"
    assert "THEIRS" not in os.environ


def test_a_folder_is_given_out_whole_and_by_ranges(tmp_path: Path) -> None:
    (tmp_path / "part 1").mkdir()
    (tmp_path / "part 1" / "file").write_bytes(bytes(range(100)))
    with folder_store(tmp_path) as root:
        file = f"{root}/part%201/file"
        files, path = sources.filesystem(file)
        assert sources.read_bytes(file) == bytes(range(100))
        with files.open_input_file(path) as opened:
            assert (opened.size(), opened.read_at(3, 40), opened.read_at(9, 98)) == (100, b"()*", b"bc")
        with pytest.raises(DocumentError, match="does not exist"):
            sources.read_bytes(f"{root}/none")
