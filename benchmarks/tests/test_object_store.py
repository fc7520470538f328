import os

import pytest

from benchmarks.measure.environment import environment
from benchmarks.measure.object_store import listed_store
from layoutray.prepare.discovery import find_documents
from layoutray.recipe import IngestRecipe
from layoutray.store import sources


def test_the_given_number_of_keys_is_listed() -> None:
    with listed_store(2345) as root:
        listed = list(sources.list_files(root))
        found = find_documents(root, IngestRecipe("folder"))
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
