"""Pages go to people and come back: ingest, export, a person's changes, ingest again, encode."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from layoutray.cli import encode, ingest, predict
from layoutray.cli.export import label_studio
from layoutray.document import Page
from layoutray.errors import InputError
from layoutray.store import codec, shards, sources
from layoutray.store.card import Card
from layoutray.store.schema import PAGES
from tests.cluster.checkpoints import save_untrained
from tests.formats.projects import Results, submitted, write
from tests.jobs import pages, write_pages
from tests.ocr.files import pdf, typed
from tests.peak_memory import peak_of
from tests.readers.native import put_picture
from tests.store.pages import page, word

FORM = {
    "form": [
        {
            "label": "answer",
            "words": [{"text": text, "box": [10 * n, 10, 10 * n + 8, 20]} for n, text in enumerate("abc")],
        }
    ]
}


def tasks_of(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "tasks.json").read_text())


def forms(root: Path) -> Path:
    """Two forms as FUNSD ships them."""
    for name, height in (("1", 100), ("2", 120)):
        put_picture(root / f"training_data/images/{name}.png", 200, height)
        (root / "training_data/annotations").mkdir(exist_ok=True)
        (root / f"training_data/annotations/{name}.json").write_text(json.dumps(FORM))
    return root


def rows(folder: Path) -> list[Page]:
    return sorted(codec.pages_of(shards.read(str(folder / "pages"), PAGES)), key=lambda page: page.source)


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_pages_come_back_as_people_left_them_and_can_be_trained_on(tmp_path: Path) -> None:
    sent_from, all_train = str(forms(tmp_path / "funsd")), ["--set", "dev_share=0"]
    assert ingest.main(["ingest-funsd", sent_from, str(tmp_path / "sent"), *all_train]) == 0
    folders = [str(tmp_path / "sent"), str(tmp_path / "tasks")]
    assert label_studio.main([*folders, "--labels", "question", "--root", str(tmp_path)]) == 0
    tasks = tasks_of(tmp_path / "tasks")
    assert [task["data"]["image"] for task in tasks] == [
        f"/data/local-files/?d=funsd/training_data/images/{n}.png" for n in (1, 2)
    ]
    assert 'value="question"' in (tmp_path / "tasks/labels.xml").read_text()

    def edit(results: Results) -> Results:
        results[0]["value"]["rectanglelabels"] = ["question"]
        return results

    back = submitted(tasks, edit)
    back[1]["annotations"][0]["was_cancelled"] = True
    write(tmp_path / "project", back)
    folders, pictures = [str(tmp_path / "project"), str(tmp_path / "back")], f'pictures=["{tmp_path}"]'
    assert ingest.main(["ingest-label-studio", *folders, *all_train, "--set", pictures]) == 0
    manifest = json.loads((tmp_path / "back/manifest.json").read_text())
    assert (manifest["pages_in"], manifest["pages_out"], manifest["reasons"]) == (2, 1, {"not_annotated": 1})
    sent, (back_again,) = rows(tmp_path / "sent")[0], rows(tmp_path / "back")
    assert [word.tag for word in sent.words] == ["B-answer", "I-answer", "I-answer"]
    assert [word.tag for word in back_again.words] == ["B-question", "B-answer", "I-answer"]
    assert [word.box for word in back_again.words] == [word.box for word in sent.words]
    assert (back_again.doc_id, back_again.image, back_again.split) == (sent.doc_id, sent.image, "train")
    assert (
        encode.main(
            [
                "finetune-funsd",
                str(tmp_path / "back"),
                "--out",
                str(tmp_path / "windows"),
                "--set",
                "tokenizer.vocab_size=50",
            ]
        )
        == 0
    )
    assert Card.read(str(tmp_path / "windows")).labels == (
        "O",
        *("B-answer", "I-answer", "E-answer", "S-answer"),
        *("B-question", "I-question", "E-question", "S-question"),
    )


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_answers_are_labels_with_scores_and_pages_of_pdfs_are_drawn(tmp_path: Path) -> None:
    save_untrained(tmp_path / "model")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a.pdf").write_bytes(
        pdf(typed("total 12.50 date 3.10", x=72, y=700), typed("shop 9.90", x=72, y=700))
    )
    assert predict.main([str(tmp_path / "model"), str(tmp_path / "files"), "--out", str(tmp_path / "answers")]) == 0
    assert (
        label_studio.main(
            [
                str(tmp_path / "answers"),
                str(tmp_path / "tasks"),
                "--labels",
                "total",
                "--url",
                "http://host/",
            ]
        )
        == 0
    )
    tasks = tasks_of(tmp_path / "tasks")
    assert [(task["data"]["layoutray"]["page"], len(task["predictions"][0]["result"])) for task in tasks] == [
        (1, 8),
        (2, 4),
    ]
    assert {task["predictions"][0]["model_version"].partition(" ")[0] for task in tasks} == {"untrained"}
    labelled = [
        one
        for task in tasks
        for one in task["predictions"][0]["result"]
        if one["value"].get("rectanglelabels", ["O"]) != ["O"]
    ]
    assert labelled
    assert all(0 < one["score"] <= 1 for one in labelled)
    drawn = [Path(task["data"]["image"].removeprefix("http://host")) for task in tasks]
    assert [file.read_bytes()[:4] for file in drawn] == [b"\x89PNG"] * 2


def test_memory_does_not_grow_with_the_number_of_pages(tmp_path: Path) -> None:
    def written(count: int) -> str:
        made = [dataclasses.replace(one, image=f"/{one.source}.png", words=one.words) for one in pages(count)]
        folder = str(tmp_path / f"{count}")
        for start in range(0, count, 5):
            part = made[start : start + 5]
            shards.write(codec.pages_table(part, [one.source for one in part]), f"{folder}/pages", f"{start}.parquet")
        return folder

    def export(count: int, out: str) -> int:
        folder = written(count)
        return peak_of(lambda: label_studio.main([folder, str(tmp_path / out), "--labels", "total"]))

    export(5, "first")  # imports and caches
    small, large = export(10, "small"), export(50, "large")
    assert large < 1.5 * small
    order = [task["data"]["layoutray"]["source"] for task in tasks_of(tmp_path / "large")]
    assert len(order) == 50
    assert order == sorted(order)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of the 2 pages .* has a picture"):
        label_studio.main([write_pages(tmp_path / "blind", pages(2)), str(tmp_path / "out")])
    folder = write_pages(tmp_path, [page("d", 1, word("x"))])
    with pytest.raises(InputError, match="carry no labels, and --labels names none"):
        label_studio.main([folder, str(tmp_path / "out")])
    with pytest.raises(InputError, match="point --answers to a folder"):
        label_studio.main([folder, str(tmp_path / "out"), "--answers", folder])
    assert label_studio.main([folder, str(tmp_path / "out"), "--labels", "total"]) == 0
    with pytest.raises(InputError, match="already holds tasks"):
        label_studio.main([folder, str(tmp_path / "out"), "--labels", "total"])


def test_pictures_of_pdfs_are_where_label_studio_serves_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk of the README: documents in one folder, pages and tasks in another one."""
    (tmp_path / "scans").mkdir()
    file = tmp_path / "scans/a.pdf"
    file.write_bytes(pdf(typed("total 12.50", x=72, y=700)))
    made = dataclasses.replace(page("d", 1, word("x")), source=str(file), image=str(file))
    folder = write_pages(tmp_path / "work/pages", [made])
    monkeypatch.chdir(tmp_path / "work")
    for out, root, drawn in (
        ("tasks", "../scans", "../scans/.layoutray/pictures/d-1.png"),
        ("again", str(tmp_path), "again/pictures/d-1.png"),
        ("../scans/tasks", "../scans", "../scans/tasks/pictures/d-1.png"),
    ):
        call = [folder, out, "--labels", "total", "--root", root, "--url", "/d?="]
        assert label_studio.main(call) == 0
        (task,) = tasks_of(Path(out))
        served = Path(root) / task["data"]["image"].removeprefix("/d?=")
        assert served.resolve() == Path(drawn).resolve()
        assert served.read_bytes()[:4] == b"\x89PNG"
    assert [*sources.list_files(str(tmp_path / "scans"))] == [
        *map(str, [file, *(tmp_path / "scans/tasks" / name for name in ("labels.xml", "pictures/d-1.png"))]),
        str(tmp_path / "scans/tasks/tasks.json"),
    ], "an ingest of the documents does not see the pictures"


def test_a_picture_outside_of_the_root_is_named_with_a_root_that_helps(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    picture = tmp_path / "scans/a.png"
    folder = write_pages(tmp_path / "pages", [dataclasses.replace(page("d", 1, word("x")), image=str(picture))])
    with pytest.raises(InputError, match=f"a.png is not below .*give --root a folder that has both, e.g. {tmp_path},"):
        label_studio.main([folder, str(tmp_path / "out"), "--labels", "x", "--root", str(tmp_path / "root")])
