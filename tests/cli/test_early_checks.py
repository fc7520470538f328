"""What a verb checks before Ray starts and before it writes anything, and what a dry run says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from layoutray.cli.main import main
from layoutray.devices import visible_gpus
from tests.cluster.checkpoints import save_untrained
from tests.jobs import encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with pages, examples, a recipe, a checkpoint, a picture and a store, which is the working folder."""
    folder = tmp_path_factory.mktemp("early")
    chosen = recipe("entities", steps=12)
    encode(folder, chosen, pages(6, 2))
    recipe_file(folder, chosen)
    save_untrained(folder / "model")
    (folder / "scans").mkdir()
    Image.new("L", (60, 80), 255).save(folder / "scans/a.png")
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RAY_ADDRESS", "127.0.0.1:9")  # a verb that starts Ray fails, and says so
        yield folder


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("encode small.toml ingested --out ingested", "ingested is a data set, and this command writes a set of examp"),
        ("ingest ingest-folder scans model", "model is a checkpoint, and this command writes a data set"),
        ("predict model scans --out ingested", "ingested is a data set, and this command writes a folder of answers"),
        ("finetune small.toml examples --out examples", "examples is a set of examples, and this command writes a ch"),
        ("mix mix ingested model --out examples", "examples is a set of examples, and this command writes a data set"),
        ("ingest ingest-values scans new", "values.csv or values.jsonl"),
        (
            "evaluate invoices ingested",
            "invoices is not a checkpoint: it does not exist; give .* models:/invoices@champ",
        ),
        ("evaluate ingested ingested", "ingested is not a checkpoint: it is a data set; give"),
        ("encode small.toml model --out new", "model is not a data set: it is a checkpoint; give"),
        ("dead-letters list model", "model has no dead letters: it is a checkpoint; give"),
        ("import skim_attentive scans new", "known: .*skim-attention"),
        ("finetune finetun-fields examples --out new", "did you mean finetune-fields"),
    ],
)
def test_a_folder_of_another_kind_is_named(
    call: str, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(here.rglob("*"))
    assert main(call.split()) == 1
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("call", ["ingest ingest-folder scans new", "predict model scans --out new"])
def test_a_missing_language_of_the_ocr_engine_is_one_line(
    call: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = ["--set", "recognition.engine=tesserocr", "--set", "recognition.tesserocr.language=xyz"]
    assert main([*call.split(), *engine]) == 1
    error = capsys.readouterr().err
    assert "xyz" in error
    assert (error.count("error: "), "Traceback" in error, "Ray" in error) == (1, False, False)
    assert not (here / "new").exists()


@pytest.mark.skipif(visible_gpus() > 0, reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["finetune", "small.toml", "examples", "--out", "new", "--gpus", "1"]) == 1
    assert "error: --gpus is 1, and PyTorch can use 0 GPUs here; leave --gpus out" in capsys.readouterr().err
    assert not (here / "new").exists()


@pytest.mark.parametrize(
    ("call", "counts"),
    [
        ("encode small.toml ingested --out new", {"pages": {"train": 6, "dev": 2}}),
        ("finetune small.toml examples --out new", {"steps": 12, "passes": 8.73}),
        ("predict model scans --out new --sample 1", {"documents": 1, "pages": 1}),
        ("ingest ingest-folder scans new --sample 0", {"documents": 1, "pages": 1}),
    ],
)
def test_a_dry_run_checks_and_counts(
    call: str, counts: dict[str, object], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(here.rglob("*"))
    assert main([*call.split(), "--dry-run"]) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    assert {name: plan[name] for name in counts} == counts
    assert sorted(here.rglob("*")) == before


def test_a_dry_run_of_a_training_tells_the_time_and_the_cost(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.rglob("*"))
    call = "finetune small.toml examples --out new --workers 2 --threads 1 --dry-run --price 3600"
    assert main(call.split()) == 0
    estimate = json.loads(capsys.readouterr().out)["plan"]["estimate"]
    assert estimate["cores"] == 2
    assert float(estimate["cost"]) == pytest.approx(12 * estimate["seconds a step"], rel=0.05)
    assert float(estimate["hours"]) == pytest.approx(float(estimate["core hours"]) / 2, rel=0.05)
    assert sorted(here.rglob("*")) == before
