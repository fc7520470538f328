"""The benchmark of LAMBERT from a trained encoder and receipts to its tables, at a minimal size."""

import json
from itertools import count
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.papers.lambert import LAYOUTS, SYSTEMS
from layoutray import checkpoint
from layoutray.cli import encode, ingest
from layoutray.cli.train import pretrain

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(1800)]

BERT = ["arch=hf", "model_type=bert", "hidden=32", "heads=2", "layers=1", "feed_forward=32"]


# Enough words for the filters of pretraining.
THANKS = [
    "Thank you for your visit to our shop and please keep this receipt",
    "so that we can exchange the goods within seven days",
] * 3


def receipt(folder: Path, name: str, shop: str, total: str, *more: str) -> None:
    lines = [shop, "1 Long Road", "Klang", "Date 01/02/2018", f"Total {total}", *more]
    values = {"company": shop, "address": "1 Long Road, Klang", "date": "01/02/2018", "total": total}
    # As wide as it is long, for pages of full lines are refused too.
    rows = [
        f"10,{y},{8 * len(line)},{y},{8 * len(line)},{y + 20},10,{y + 20},{line}"
        for y, line in zip(count(10, 40), lines, strict=False)
    ]
    for kind, text in (("box", "\n".join(rows)), ("entities", json.dumps(values))):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        (folder / kind / f"{name}.txt").write_text(text)


def test_every_system_is_trained_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    for number in range(10):
        receipt(
            tmp_path / "sroie" / "train",
            f"X{number}",
            f"Shop Number {'ABCDEFGHIJ'[number]} Trading",
            f"{number}.50",
            *THANKS,
        )
    receipt(tmp_path / "sroie" / "test", "Y0", "Shop Number B Trading", "77.10")
    receipt(tmp_path / "sroie" / "test", "Y1", "Wholly Other Things", "4.10")
    assert ingest.main(["ingest-sroie", "sroie", "pages", "--set", "words=annotation", "--set", "dev_share=0.3"]) == 0
    model = [word for key in BERT for word in ("--set", f"model.{key}")]
    assert encode.main(["pretrain-tiny", "pages", "--out", "windows", "--set", "max_length=64"]) == 0
    size = ["--set", "max_length=64", "--set", "train.steps=1", "--set", "train.warmup_steps=0"]
    assert pretrain(["pretrain-tiny", "windows", "--out", "start", *model, *size]) == 0
    command = [
        "lambert-tables",
        "pages",
        "--start",
        "start",
        "--labelled",
        "sroie=pages",
        "--out",
        "tables",
        "--seeds",
        "1",
        "2",
    ]
    command += ["--steps", "6", "--tune-steps", "6", "--length", "64", "--set", "train.precision=bf16"]
    assert main(command) == 0
    found = json.loads((tmp_path / "tables/tables.json").read_text())
    assert found["known"]["sroie"] == {
        "documents": 2,
        "train": {"copies": 0, "templates": 1},
        "pages": {"copies": 0, "templates": 1},
    }
    assert found["fields"]["sroie"].keys() == {*SYSTEMS, *LAYOUTS}
    assert all(scores.keys() == {"1", "2"} for scores in found["fields"]["sroie"].values())
    assert all(
        {"exact_f1", "new.exact_f1"} <= of.keys()
        for scores in found["fields"]["sroie"].values()
        for of in scores.values()
    )
    assert found["perplexity"].keys() == {*SYSTEMS, *LAYOUTS} - {"Fine-tuned only"}
    assert {
        checkpoint.load(one.parent).recipe.train.precision for one in (tmp_path / "tables").glob("*/recipe.json")
    } == {"bf16"}
    starts = {
        name: checkpoint.load(tmp_path / "tables" / f"sroie-{name}-2").provenance["init"]
        for name in ("fine-tuned-only", "lambert")
    }
    assert [Path(one).name for init in starts.values() for one in init] == ["start", "lambert-1"]
