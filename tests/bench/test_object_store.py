import os

import pytest

from layoutray.bench.environment import environment
from layoutray.bench.object_store import listed_store
from layoutray.prepare.discovery import find_documents
from layoutray.recipe import IngestRecipe
from layoutray.store import sources


def test_as_many_keys_are_listed_as_are_said_to_be_there() -> None:
    with listed_store(2345) as root:
        listed = list(sources.list_files(root))
        found = find_documents(root, IngestRecipe("folder"))
    assert listed[0] == f"{root}/000000000000.png"
    assert len(set(listed)) == len(found.references) == 2345
    assert listed == sorted(listed)


def test_variables_are_set_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "before")
    monkeypatch.delenv("THEIRS", raising=False)
    with environment({"OURS": "1", "THEIRS": "2"}):
        assert (os.environ["OURS"], os.environ["THEIRS"]) == ("1", "2")
    assert os.environ["OURS"] == "before"
    assert "THEIRS" not in os.environ
