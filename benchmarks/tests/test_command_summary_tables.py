"""The benchmark of encoders that write summaries, at a size that only shows that its rows are made."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from layoutray import checkpoint
from tests.documents import document, pages, summary, write_documents
from tests.jobs import write_pages

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.timeout(900)]


def test_selected_systems_are_trained_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    wholes = [pages(number, split) for number, split in enumerate(["train"] * 6 + ["dev"] * 2 + ["test"] * 3)]
    write_pages(tmp_path / "ingested", [one for whole in wholes for one in whole])
    write_documents(tmp_path / "ingested", [document(whole, summary(whole)) for whole in wholes])
    command = ["summary-tables", "ingested", "--length", "64", "--block", "16", "--written", "24", "--out", "tables"]
    command += ["--steps", "6", "--seeds", "1", "2", "--only", "Vanilla", "Transpooler", "mean of neighbours"]
    assert main(command) == 0
    report = json.loads((tmp_path / "tables/tables.json").read_text())
    found = report["rouge"]
    assert 0 < report["first_sentence"]["rouge1_low"] <= report["first_sentence"]["rouge1"]
    assert found.keys() == {"Vanilla", "Transpooler", "mean of neighbours"}
    assert all(scores.keys() == {"1", "2"} for scores in found.values())
    assert all(
        {"perplexity", "rouge1", "rouge1_low", "rouge2", "rougeL"} <= of.keys()
        for scores in found.values()
        for of in scores.values()
    )
    trained = checkpoint.load(tmp_path / "tables" / "mean-of-neighbours-2").recipe
    assert (trained.model["pooling"], trained.model["block"], trained.seed, trained.train.steps) == ("mean", 16, 2, 6)
