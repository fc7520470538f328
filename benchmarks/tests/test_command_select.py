"""The simulation of labelling from labelled pages to its tables, at a minimal size."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from layoutray import checkpoint
from layoutray.cli import encode, ingest, synthesize
from layoutray.cli.train import pretrain
from layoutray.store.data_set import DataSet

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1800)]

SELECT = ["select", "finetune-funsd", "pages", "--start", "start", "--out", "runs", "--seeds", "1", "--steps", "2"]


def labelled(folder: Path) -> set[str]:
    return {page.doc_id for page in DataSet(str(folder)).read_pages()}


def test_both_arms_are_trained_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    assert synthesize.main(["drawn", "--count", "16", "--seed", "3"]) == 0
    assert ingest.main(["ingest-synthetic", "drawn", "pages", "--set", "words=annotation"]) == 0
    assert encode.main(["pretrain-tiny", "pages", "--out", "windows"]) == 0
    size = ["--set", "train.steps=1", "--set", "train.warmup_steps=0"]
    assert pretrain(["pretrain-tiny", "windows", "--out", "start", *size]) == 0
    rounds = ["--first", "2", "--more", "3", "--rounds", "2", "--goal", "0", "--set", "max_length=128"]
    assert main([*SELECT, *rounds]) == 0
    found = json.loads((tmp_path / "runs/tables.json").read_text())
    assert all(found["dev"][arm]["1"].keys() == {"2", "5", "8"} for arm in ("select", "random"))
    assert found["dev"]["select"]["1"]["2"] == found["dev"]["random"]["1"]["2"], "the first round is shared"
    assert found["labels needed"] == {arm: {"1": 2.0} for arm in ("select", "random")}
    assert found["test"].keys() == {"select", "random"}
    names = ("first-2-1", "select-5-1", "select-8-1")
    first, second, third = (labelled(tmp_path / f"runs/{name}.labelled") for name in names)
    assert (len(first), len(second), len(third)) == (2, 5, 8)
    assert first < second < third
    kept = checkpoint.load(tmp_path / "runs/select-8-1")
    assert [Path(start).name for start in kept.provenance["init"]] == ["start"]
    written = (tmp_path / "runs/select-8-1/model.safetensors").stat().st_mtime_ns
    assert main([*SELECT, *rounds]) == 0
    assert (tmp_path / "runs/select-8-1/model.safetensors").stat().st_mtime_ns == written
    assert json.loads((tmp_path / "runs/tables.json").read_text()) == found
    assert main([*SELECT, *rounds, "--rounds", "9"]) == 1
    assert "need 29 documents" in capsys.readouterr().err
