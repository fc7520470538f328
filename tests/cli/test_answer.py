"""`layoutray answer`: files and names of fields in; values, a table and a model for these fields out."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import layoutray
from layoutray.cli import answer
from layoutray.errors import CheckpointError, InputError
from layoutray.inference.extractor import Extractor
from tests.cluster.checkpoints import save_untrained
from tests.ocr.files import fillable_pdf, pdf, text_field, typed


@pytest.fixture
def start(tmp_path: Path) -> Path:
    save_untrained(tmp_path / "start", name="fields_by_name")
    return tmp_path / "start"


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_files_are_answered_for_the_named_fields(
    start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.pdf").write_bytes(pdf(typed(f"{name} total 12.50 date 3.10", x=72, y=700)))
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.4 damaged")
    files, out = [str(tmp_path / f"{name}.pdf") for name in "abc"], tmp_path / "out"
    asked = ["--fields", "vendor:text, order", "--model", str(start), "--out", str(out), "--workers", "1"]
    assert answer.main([*files, *asked]) == 0
    shown = capsys.readouterr()
    documents = [json.loads(line) for line in shown.out.splitlines()]
    assert [Path(document["document"]).name for document in documents] == ["a.pdf", "b.pdf"]
    fields = [value["field"] for document in documents for value in document["fields"]]
    assert fields
    assert set(fields) <= {"vendor", "order"}
    assert "vendor" in shown.err
    assert "1 failed" in shown.err
    with (out / "answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["field"] for row in rows if row["field"]] == fields
    assert Extractor.load(out / "model").fields.keys() == {"vendor", "order"}
    assert layoutray.answer(files, "vendor:text, order", model=start, out=out, workers=1) == documents, "it continues"
    (tmp_path / "f.toml").write_text('[task.fields]\ntotal = { type = "amount", form_fields = ["sum"] }')
    (tmp_path / "f.pdf").write_bytes(fillable_pdf(text_field("sum", "12.50")))
    (form,) = layoutray.answer(
        tmp_path / "f.pdf", str(tmp_path / "f.toml"), model=start, out=tmp_path / "form", workers=1
    )
    reason = "the form field 'sum' of the PDF file states it"
    stated = {"field": "total", "value": "12.50", "content": "12.50", "confidence": 1.0, "reason": reason}
    assert form["fields"] == [stated]
    with pytest.raises(InputError, match=r"belongs to another job: .*fields\.total is absent there"):
        layoutray.answer(files, "total", model=start, out=out)


def test_fields_may_stand_in_a_recipe(start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = tmp_path / "bills.toml"
    total = 'total = { type = "amount", description = "what is to be paid" }'
    recipe.write_text(f'[task.fields]\n{total}\npaid = {{ type = "mark" }}\n')
    scan, out = tmp_path / "a.pdf", tmp_path / "out"
    scan.write_bytes(pdf(typed("total 12.50", x=72, y=700)))
    given = [
        str(scan),
        "--fields",
        str(recipe),
        "--model",
        str(start),
        "--out",
        str(out),
        "--dry-run",
        "--price",
        "3600",
    ]
    assert answer.main(given) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["recipe"]["recognition"]["marks"] == "detect"
    plan: dict[str, Any] = shown["plan"]
    assert plan["fields"]["total"]["description"] == "what is to be paid"
    assert (plan["pages"], plan["estimate"]["pages sampled"]) == (1, 1)
    assert float(plan["estimate"]["cost"].split()[0]) == pytest.approx(plan["estimate"]["seconds a page"], rel=0.1)
    assert not out.exists()
    recipe.write_text("[task]\n")
    with pytest.raises(InputError, match=r"has no section \[task.fields\]; add one"):
        answer.main(given)


def test_what_cannot_be_asked_is_refused_before_anything_is_written(start: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for folder in (tmp_path, tmp_path / "a"):
        (folder / "x.pdf").write_bytes(b"")
    scan, out = tmp_path / "x.pdf", tmp_path / "out"
    with pytest.raises(InputError, match="the field 'total' has the type 'money'"):
        layoutray.answer(scan, "total:money", model=start, out=out)
    save_untrained(tmp_path / "tagger")
    with pytest.raises(CheckpointError, match="is a model of task entities, which answers the fields that it was"):
        layoutray.answer(scan, "total", model=tmp_path / "tagger", out=out)
    with pytest.raises(InputError, match="two of the files have the same name"):
        layoutray.answer([scan, tmp_path / "a" / "x.pdf"], "total", model=start, out=out)
    with pytest.raises(InputError, match=r"y\.pdf does not exist"):
        layoutray.answer([scan, tmp_path / "y.pdf"], "total", model=start, out=out)
    assert not out.exists()
