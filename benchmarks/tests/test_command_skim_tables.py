"""The benchmark of Skim-Attention from pages to its tables, at a minimal size."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.papers.skim import PRETRAINED
from layoutray.cli import ingest, synthesize

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_every_system_is_trained_and_scored_and_a_rerun_skips_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    assert synthesize.main(["drawn", "--count", "16", "--seed", "3"]) == 0
    words = ["--set", "words=annotation", "--set", "dev_share=0.25", "--set", "test_share=0.25"]
    assert ingest.main(["ingest-synthetic", "drawn", "pages", *words]) == 0
    command = [
        "skim-tables",
        "pages",
        "--out",
        "tables",
        "--seeds",
        "1",
        "--steps",
        "6",
        "--length",
        "64",
        "--long-length",
        "128",
    ]
    assert main(command) == 0
    found = json.loads((tmp_path / "tables/tables.json").read_text())["perplexity"]
    assert found.keys() == PRETRAINED.keys()
    assert all(scores["1"]["perplexity"] > 1 for scores in found.values())
    written = (tmp_path / "tables/bert-1/model.safetensors").stat().st_mtime_ns
    assert main([*command, "--only", "BERT", "Skimformer"]) == 0
    again = json.loads((tmp_path / "tables/tables.json").read_text())["perplexity"]
    assert again == {name: found[name] for name in ("BERT", "Skimformer")}
    assert (tmp_path / "tables/bert-1/model.safetensors").stat().st_mtime_ns == written
