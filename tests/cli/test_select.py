"""`layoutray select` with an untrained model: the review list, the tasks, and what is refused."""

import csv
import json
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.cli.select import main as select
from layoutray.document import Page
from layoutray.errors import CheckpointError, InputError
from tests.cluster.checkpoints import save_untrained
from tests.jobs import pages, write_pages
from tests.mlflow_store import new_store
from tests.store.pages import page, word


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("untrained")
    save_untrained(folder)
    return str(folder)


def review(folder: Path) -> list[dict[str, str]]:
    with (folder / "review.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_review_list_has_the_documents_that_are_not_labelled(checkpoint: str, tmp_path: Path) -> None:
    every = pages(6)
    unlabelled, labelled = write_pages(tmp_path / "all", every), write_pages(tmp_path / "labelled", every[:2])
    out, store = tmp_path / "next", ["--tracking-uri", new_store(tmp_path)]
    words = ["select", checkpoint, unlabelled, "--count", "4", "--labelled", labelled, "--out", str(out), *store]
    assert main(words) == 0
    rows = review(out)
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert {row["doc_id"] for row in rows} == {one.doc_id for one in every[2:]}
    assert {row["source"] for row in rows} == {one.source for one in every[2:]}
    assert all(0 < float(row["uncertainty"]) < int(row["words"]) for row in rows)
    assert all(0 <= float(row["similarity"]) <= 1 for row in rows)
    assert all(any(label in row["why"] for label in ("no entity", "date", "total")) for row in rows)
    with pytest.raises(InputError, match="is not empty; give another folder"):
        select(words[1:])
    words[words.index("--count") + 1] = "5"
    with pytest.raises(InputError, match=r"--count is 5, but .* has 4 documents"):
        select([*words[1:], "--out", str(tmp_path / "more")])


def with_pictures() -> list[Page]:
    return [page(name, 1, word("total"), word("12.50")) for name in "abc"]


def test_tasks_have_the_order_of_the_review_list(checkpoint: str, tmp_path: Path) -> None:
    out = tmp_path / "next"
    words = [checkpoint, write_pages(tmp_path, with_pictures()), "--count", "2", "--out", str(out), "--label-studio"]
    assert select([*words, "--labels", "shop", "--tracking-uri", new_store(tmp_path)]) == 0
    tasks = json.loads((out / "tasks.json").read_text())
    assert [task["data"]["layoutray"]["doc_id"] for task in tasks] == [row["doc_id"] for row in review(out)]
    assert all(task["predictions"][0]["model_version"].startswith("untrained ") for task in tasks)
    interface = (out / "labels.xml").read_text()
    assert all(f'value="{label}"' in interface for label in ("date", "total", "shop", "O"))


def test_what_cannot_be_selected_from_is_refused(
    checkpoint: str, tmp_path: Path, trained_on_fields: tuple[Path, list[list[Page]]]
) -> None:
    writer, _ = trained_on_fields
    chosen = ["--count", "1", "--out", str(tmp_path / "next"), "--tracking-uri", new_store(tmp_path)]
    with pytest.raises(CheckpointError, match="finds no entities"):
        select([str(writer), write_pages(tmp_path / "all", pages(2)), *chosen])
    blank = write_pages(tmp_path / "blank", [page("blank", 1)])
    with pytest.raises(InputError, match="has 0 documents with words"):
        select([checkpoint, blank, *chosen])
    assert not (tmp_path / "next").exists()
