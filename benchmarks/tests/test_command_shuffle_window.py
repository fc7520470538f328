"""The benchmark of the shuffle from pages to its table, at a minimal size."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from layoutray.cli import ingest, synthesize

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_both_orders_are_trained_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    assert synthesize.main(["drawn", "--count", "90", "--seed", "3"]) == 0
    assert ingest.main(["ingest-synthetic", "drawn", "pages", "--set", "words=annotation"]) == 0
    sizes = ["--length", "16", "--out", "runs", "--seeds", "1", "--steps", "40", "--set", "train.micro_batch_size=8"]
    assert main(["shuffle-window", "pages", "--window", "256", *sizes]) == 0
    found = json.loads((tmp_path / "runs/tables.json").read_text())
    assert found["examples"] > found["window"] == 256, "there are several groups of blocks"
    whole, blocks = (found["scores"][name]["1"]["perplexity"] for name in ("whole", "blocks"))
    assert found["ratios"]["1"] == blocks / whole != 1
    assert main(["shuffle-window", "pages", "--window", "1000000", *sizes]) == 1
    assert "--window is 1000000; it must be below the number of examples" in capsys.readouterr().err
