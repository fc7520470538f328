"""The simulation of labelling from labelled pages to its tables, at a minimal size."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from layoutray import checkpoint
from layoutray.checkpoint import Checkpoint, build_model
from layoutray.store.data_set import DataSet
from layoutray.tokenizer import load
from tests.jobs import encode, page, recipe, recipe_file

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LABELS = ("O", "B-date", "I-date", "B-total", "I-total")
SPLITS = ("train",) * 8 + ("dev",) * 3 + ("test",) * 3


def prepare(folder: Path) -> list[str]:
    """Encoded pages and a start in `folder`; returns the arguments of the benchmark."""
    chosen = recipe("entities", steps=2)
    made = [page(number, split) for number, split in enumerate(SPLITS)]
    examples = encode(folder / "runs", chosen, made)  # where the benchmark encodes, if it finds nothing there
    vocabulary = load(Path(examples))
    model = build_model(chosen, vocabulary, LABELS)
    checkpoint.save(
        folder / "start",
        Checkpoint(recipe=chosen, labels=LABELS, tokenizer=vocabulary, model=model, metrics={}, provenance={}),
    )
    files = [recipe_file(folder, chosen), str(folder / "runs/ingested"), "--start", str(folder / "start")]
    return ["select", *files, "--out", str(folder / "runs"), "--seeds", "1", "--steps", "2", "--first", "2"]


def labelled(folder: Path) -> set[str]:
    return {page.doc_id for page in DataSet(str(folder)).read_pages()}


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "tables.json").read_text())


def test_both_arms_are_trained_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    command, runs = [*prepare(tmp_path), "--more", "3", "--goal", "0"], tmp_path / "runs"
    assert main([*command, "--rounds", "1"]) == 0
    found = results(runs)
    assert all(found["dev"][arm]["1"].keys() == {"2", "5"} for arm in ("select", "random"))
    assert found["dev"]["select"]["1"]["2"] == found["dev"]["random"]["1"]["2"], "the first round is shared"
    assert found["labels needed"] == {arm: {"1": 2.0} for arm in ("select", "random")}
    assert found["test"].keys() == {"select", "random"}
    first, *arms = (labelled(runs / f"{name}-1.labelled") for name in ("first-2", "select-5", "random-5"))
    assert all(first < documents and (len(first), len(documents)) == (2, 5) for documents in arms)
    trained = checkpoint.load(runs / "select-5-1")
    assert [Path(start).name for start in trained.provenance["init"]] == ["start"]
    written = (runs / "select-5-1/model.safetensors").stat().st_mtime_ns
    assert main([*command, "--rounds", "1"]) == 0
    assert (runs / "select-5-1/model.safetensors").stat().st_mtime_ns == written, "a rerun trains nothing again"
    assert results(runs) == found
    assert main([*command, "--rounds", "9"]) == 1
    assert "need 29 documents" in capsys.readouterr().err
