"""The benchmark of all systems, from pages to its tables, at a size that only shows that every row is trained, scored and kept."""

import json
from pathlib import Path

import pytest

from layoutray.bench.skim_tables import PRETRAINED
from layoutray.cli import ingest, synthesize
from pipelines import benchmark

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_every_system_is_trained_scored_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(benchmark.__file__).parents[1]))
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
    assert benchmark.main(command) == 0
    found = json.loads((tmp_path / "tables/tables.json").read_text())["perplexity"]
    assert found.keys() == PRETRAINED.keys()
    assert all(scores["1"]["perplexity"] > 1 for scores in found.values())
    written = (tmp_path / "tables/bert-1/model.safetensors").stat().st_mtime_ns
    assert benchmark.main(command) == 0
    assert (tmp_path / "tables/bert-1/model.safetensors").stat().st_mtime_ns == written
