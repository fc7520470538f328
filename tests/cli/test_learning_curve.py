"""The verb `learning-curve` as a user types it: trials on a real Ray, runs in a real MLflow store."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient
from PIL import Image

from layoutray import checkpoint
from layoutray.cli import evaluate, learning_curve, train
from layoutray.cli.main import main
from layoutray.errors import InputError
from layoutray.tracking import stores
from tests.jobs import NO_DROPOUT, encode, pages, recipe, recipe_file
from tests.mlflow_store import new_store

SIZES = (2, 6, 24)
TRAINED_BEFORE = [(size, seed) for size in SIZES for seed in (1, 2)][:-1]


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a recipe, its pages and its examples of 24 training documents, also the working folder."""
    folder = tmp_path_factory.mktemp("curve")
    chosen = recipe("entities", model=NO_DROPOUT, steps=80, learning_rate=5e-3, micro_batch_size=8)
    recipe_file(folder, chosen)
    encode(folder, chosen, pages(24, 6))
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def call(out: str, *words: str) -> list[str]:
    return ["small.toml", "examples", "ingested", "--split", "train", "--out", out, "--experiment", out, *words]


@pytest.fixture(scope="module")
def drawn(here: Path, cluster: None) -> Path:
    """The folder of a curve over three numbers of documents with two seeds.

    All trainings but one are finished before, each in this process, which takes less time than a trial.
    """
    for size, seed in TRAINED_BEFORE:
        settings = [f"train.documents={size}", f"seed={seed}"]
        words = ["small.toml", "examples", "--out", f"drawn/{','.join(settings)}", "--experiment", "before"]
        assert train.finetune([*words, *(word for one in settings for word in ("--set", one))]) == 0
    before = mtimes(here / "drawn")
    assert learning_curve.main(call("drawn", "--documents", "2", "6", "all", "--seeds", "1", "2")) == 0
    assert mtimes(here / "drawn").items() >= before.items(), "a finished training is not repeated"
    return here / "drawn"


def mtimes(folder: Path) -> dict[Path, int]:
    """When the files of trainings were written."""
    return {file: file.stat().st_mtime_ns for file in folder.glob("*=*/*")}


def curve(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "curve.json").read_text())


@pytest.mark.ray
def test_every_point_is_the_f1_that_evaluate_finds(drawn: Path, tmp_path: Path) -> None:
    points = curve(drawn)["points"]
    assert [point["documents"] for point in points] == [*SIZES]
    report = tmp_path / "report.json"
    for point in points:
        for seed, value in zip((1, 2), point["seeds"], strict=True):
            folder = drawn / f"train.documents={point['documents']},seed={seed}"
            assert evaluate.main([str(folder), "ingested", "--split", "train", "--json", str(report)]) == 0
            assert value == pytest.approx(json.loads(report.read_text())["metrics"]["f1"])
            assert checkpoint.load(folder).recipe.seed == seed
        assert point["value"] == pytest.approx(sum(point["seeds"]) / 2)
        assert point["low"] <= point["value"] <= point["high"]
    assert points[-1]["value"] > points[0]["value"], "more of the measured documents were learned"


@pytest.mark.ray
def test_the_gain_of_more_labels_is_predicted_and_such_a_prediction_is_checked(drawn: Path) -> None:
    found = curve(drawn)
    gain, check = found["gain"], found["check"]
    assert gain["more_documents"] == 20
    assert 0 < gain["value"] < 1 - found["points"][-1]["value"]
    assert gain["low"] <= gain["value"] <= gain["high"]
    assert check["documents"] == 24
    difference = check["measured"]["value"] - check["predicted"]["value"]
    assert check["difference"]["value"] == pytest.approx(difference)
    with Image.open(drawn / "curve.png") as picture:
        assert picture.size == (960, 540)


@pytest.mark.ray
def test_the_curve_has_a_run_above_those_of_its_trials(drawn: Path) -> None:
    client = MlflowClient(tracking_uri=stores.default_uri())
    runs = client.search_runs([client.get_experiment_by_name("drawn").experiment_id])
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    (trial,) = [run for run in runs if run is not parent]
    assert trial.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert (trial.data.params["train.documents"], trial.data.params["seed"]) == ("24", "2")
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"curve.json", "pictures", "images"}


@pytest.mark.ray
def test_a_second_call_does_only_what_is_missing(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = mtimes(drawn)
    (drawn / "curve.png").unlink()
    assert main(["learning-curve", *call("drawn", "--documents", "2", "6", "24", "99", "--seeds", "1", "2")]) == 0
    shown = capsys.readouterr()
    assert "has 24 training documents: left out are the sizes 99" in shown.err
    assert "20 more labelled documents, 44 instead of 24, would change f1 by +" in shown.err
    assert "check: from up to 6 documents, " in shown.err
    passes = {"2": "196.9", "6": "65.6", "24": "16.4"}  # 80 steps of 8 windows; the 24 documents have 39
    rows = [line.split() for line in shown.err.replace("│", " ").splitlines()]
    assert {row[0]: row[1] for row in rows if row and row[0] in passes} == passes
    assert json.loads(shown.out) == curve(drawn)
    assert (drawn / "curve.png").exists()
    assert mtimes(drawn) == before


def test_one_number_of_documents_is_no_curve(here: Path) -> None:
    with pytest.raises(InputError, match=r"needs two or more numbers .* has 24; give smaller ones"):
        learning_curve.main(call("refused", "--documents", "30", "all"))
    assert not (here / "refused").exists()


def test_a_split_without_pages_is_refused_before_anything_is_trained(here: Path) -> None:
    with pytest.raises(InputError, match="pages available: 24 in train, 6 in dev"):
        learning_curve.main(call("refused", "--split", "test"))
    assert not (here / "refused").exists()


def test_a_dry_run_says_what_would_be_trained(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert learning_curve.main(call("planned", "--documents", "5", "all", "--seeds", "7", "--dry-run")) == 0
    plan = json.loads(capsys.readouterr().out)["plan"]
    names = [f"train.documents={size},seed=7" for size in (5, 24)]
    assert plan["checkpoints"] == [str(here / "planned" / name) for name in names]
    assert not (here / "planned").exists()
