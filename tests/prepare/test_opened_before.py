"""A rerun opens the documents whose files have changed, and no others."""

import json
import os
import shutil
from pathlib import Path

import pytest

from layoutray.cluster.ingest import plan_ingest
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import Plan
from layoutray.recipe.ingest import IngestRecipe, load_ingest
from tests.ocr.files import encoded, picture

OLD = 1_700_000_000


def write(file: Path, data: bytes, at: float = OLD) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (at, at))


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    for name in "abc":
        write(tmp_path / f"scans/{name}.png", encoded(picture(name), "PNG"))
    return tmp_path / "scans"


def plan(scans: Path, output: Output, recipe: IngestRecipe | None = None) -> Plan:
    return plan_ingest(str(scans), recipe or load_ingest("ingest-folder"), output=output)


def test_an_unchanged_file_is_not_opened_again(scans: Path, tmp_path: Path) -> None:
    output = Output(str(tmp_path / "out"))
    first = plan(scans, output)
    assert first == plan_ingest(str(scans), load_ingest("ingest-folder"))
    whole = (scans / "a.png").read_bytes()
    write(scans / "a.png", b"x" * len(whole))  # as only a test can change it: unseen
    assert plan(scans, output) == first
    write(scans / "a.png", b"x" * len(whole), OLD + 1)
    again = plan(scans, output)
    assert [letter.source for letter in again.letters] == [(scans / "a.png").as_uri().removeprefix("file://")]
    assert [task.doc_id for task in again.page_tasks] == [
        task.doc_id for task in first.page_tasks if "/a.png" not in task.reference.source
    ]
    write(scans / "a.png", whole, OLD + 2)
    assert plan(scans, output) == first


def test_new_files_join_and_what_is_known_of_others_stays(scans: Path, tmp_path: Path) -> None:
    output = Output(str(tmp_path / "out"))
    assert len(plan_ingest(str(scans), load_ingest("ingest-folder"), limit=2, output=output).page_tasks) == 2
    write(scans / "d.png", encoded(picture("d"), "PNG"))
    assert len(plan(scans, output).page_tasks) == 4
    for file in scans.iterdir():
        write(file, b"x" * file.stat().st_size)
    assert len(plan(scans, output).page_tasks) == 4, "nothing was opened"


def test_what_has_just_changed_is_opened_again(scans: Path, tmp_path: Path) -> None:
    output, file = Output(str(tmp_path / "out")), scans / "a.png"
    os.utime(file)
    now = file.stat().st_mtime
    plan(scans, output)
    write(file, b"x" * file.stat().st_size, now)
    assert len(plan(scans, output).letters) == 1


def test_what_could_not_be_opened_is_tried_by_every_run(scans: Path, tmp_path: Path) -> None:
    output, file = Output(str(tmp_path / "out")), scans / "a.png"
    whole = file.read_bytes()
    write(file, b"x" * len(whole))
    assert len(plan(scans, output).letters) == 1
    write(file, whole)
    assert len(plan(scans, output).page_tasks) == 3


def test_other_settings_open_anew(scans: Path, tmp_path: Path) -> None:
    output = Output(str(tmp_path / "out"))
    plan(scans, output)
    for file in scans.iterdir():
        write(file, b"x" * file.stat().st_size)
    assert len(plan(scans, output, load_ingest("ingest-folder", ["recognition.dpi=100"])).letters) == 3
    assert len(plan(scans, output).page_tasks) == 3


def test_documents_with_truth_are_opened_by_every_run(data_root: Path, tmp_path: Path) -> None:
    source = tmp_path / "invoices"
    shutil.copytree(data_root / "invoice2data", source)
    for file in source.rglob("*.*"):
        os.utime(file, (OLD, OLD))
    output, recipe = Output(str(tmp_path / "out")), load_ingest("ingest-invoice2data")
    first = plan(source, output, recipe)
    truth = next(
        file
        for file in sorted(source.rglob("*.json"))
        if any(str(file.with_suffix("")) in one.source for one in first.documents)
    )
    values = json.loads(truth.read_text())
    (values[0] if isinstance(values, list) else values)["amount"] = 1234.5
    write(truth, json.dumps(values).encode())
    assert plan(source, output, recipe).documents != first.documents
