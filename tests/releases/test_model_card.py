"""The model card says what the checkpoint's evaluation says, and its example runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from layoutray.cli.main import main
from layoutray.releases.model_card import Evaluated, model_card
from tests.releases.exported import export, make

REPORT = {
    "pages": ["/private/place/receipts"],
    "split": "test",
    "words": "rapidocr",
    "metrics": {"f1": 0.61, "ece": 0.11, "support": 40},
}


def card(folder: Path, *options: str) -> ModelCard:
    (folder / "report.json").write_text(json.dumps(REPORT))
    return ModelCard.load(export(folder, "--evaluation", str(folder / "report.json"), *options) / "README.md")


def test_its_metadata_are_the_metrics(tmp_path: Path) -> None:
    make(tmp_path, {"arch": "hf"})
    made = card(tmp_path, "--licence", "apache-2.0", "--language", "en", "--data-licence", "receipts: CC BY 4.0")
    found = {(one.dataset_split, one.metric_type): one.metric_value for one in made.data.eval_results}
    assert found == {
        ("dev", "f1"): 0.75,
        ("dev", "precision"): 0.8,
        ("dev", "recall"): 0.7,
        ("dev", "ece"): 0.03,
        ("test", "f1"): 0.61,
        ("test", "ece"): 0.11,
        ("test", "support"): 40,
    }
    lanes = {one.dataset_split: one.dataset_args for one in made.data.eval_results}
    assert lanes == {"dev": {"words": "unknown"}, "test": {"words": "rapidocr"}}
    assert "| receipts | test | rapidocr | entity F1 | 0.61 |" in made.content
    assert (made.data.license, made.data.language, made.data.pipeline_tag) == (
        "apache-2.0",
        ["en"],
        "token-classification",
    )
    assert "receipts: CC BY 4.0" in made.content


def test_it_names_what_was_not_stated_and_no_private_place(tmp_path: Path) -> None:
    make(tmp_path, {"arch": "skim_embeddings"})
    text = card(tmp_path).content
    for part in ("Licences of the data: not stated", "`receipts`", "minilm", "seed 3", "temperature 1.25"):
        assert part in text
    for part in ("## Intended use", "## Limits", "`date`, `total`", "`layoutray` must be installed"):
        assert part in text
    assert "/private" not in text


def test_it_claims_no_temperature_and_no_dev_where_there_was_none(tmp_path: Path) -> None:
    made = replace(make(tmp_path, {"arch": "hf"}), temperature=1.0, metrics={})
    text = model_card(made, [Evaluated(("receipts",), "test", {"f1": 0.5})], needs_layoutray=False)
    assert "No temperature was fitted." in text
    assert not {"dev", "`dev`"} & set(text.split())


@pytest.mark.parametrize(
    "model",
    [{"arch": "skim_embeddings"}, pytest.param({"arch": "hf", "model_type": "layoutlm"}, marks=pytest.mark.slow)],
)
def test_its_example_runs(model: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process; `test_huggingface.py` loads folders in one that cannot import layoutray."""
    make(tmp_path, model)
    text = card(tmp_path).content
    code = text.partition("```python\n")[2].partition("```")[0].replace("FOLDER", str(tmp_path / "theirs"))
    capsys.readouterr()
    exec(code, {"__name__": "__main__"})
    told = capsys.readouterr().out
    assert [line.split()[0] for line in told.splitlines()] == ["Date:", "2026-03-04", "Total", "12.50"]


def test_a_file_that_is_no_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, {"arch": "hf"})
    (tmp_path / "report.json").write_text('{"f1": 1}')
    arguments = ["--evaluation", str(tmp_path / "report.json")]
    assert main(["export", "huggingface", str(tmp_path / "ours"), str(tmp_path / "theirs"), *arguments]) == 1
    assert "it lacks pages, split or metrics" in " ".join(capsys.readouterr().err.split())


def test_names_of_files_are_text_in_one_line(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script> [here](javascript:x) `|\n\n# Approved \x1b[2J\u202e" + "x" * 10_000
    made = make(tmp_path, {"arch": "hf"})
    made = replace(
        made,
        labels=("O", f"B-{hostile}", f"I-{hostile}"),
        recipe=replace(made.recipe, name=hostile),
        provenance={"pages_from": [hostile], "init": [hostile], "imported_from": hostile},
    )
    evaluated = [Evaluated((hostile,), hostile, {"f1": 0.5}, words=hostile)]
    text = model_card(made, evaluated, needs_layoutray=True)
    body = text.split("\n---\n", 1)[1]
    assert "<" not in body.replace("word < ", "")
    assert "](" not in body
    assert "# Approved" not in body.splitlines()
    assert not {"\x1b", "\u202e"} & set(body)
    assert max(map(len, body.splitlines())) < 2000
