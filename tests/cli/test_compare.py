"""The verb `compare` as a user types it: trials on a real Ray, runs in a real MLflow store."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient
from PIL import Image

from layoutray.cli import compare, evaluate
from layoutray.cli.main import main
from layoutray.errors import CheckpointError, InputError
from layoutray.recipe.recipes import with_architecture
from layoutray.tracking import stores
from tests.jobs import NO_DROPOUT, pages, recipe, recipe_file, vocabulary, write_pages
from tests.mlflow_store import new_store


@pytest.fixture(scope="module", autouse=True)
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with labelled pages, of which one has a picture, and a recipe; also the working folder."""
    folder = tmp_path_factory.mktemp("compare")
    recipe_file(folder, recipe("entities", model=NO_DROPOUT, steps=80, learning_rate=5e-3, micro_batch_size=8))
    poor = (folder / "small.toml").read_text().replace("small-entities", "poor").replace("0.005", "0.0")
    (folder / "poor.toml").write_text(poor)
    Image.new("RGB", (600, 800), "white").save(folder / "page.png")
    made = [replace(one, image=str(folder / "page.png")) for one in pages(12, 3)]
    write_pages(folder / "ingested", made)
    (folder / "runs/minilm").mkdir(parents=True)
    vocabulary().inner.save(str(folder / "runs/minilm/tokenizer.json"))
    write_pages(folder / "no-dev", [one for one in made if one.split == "train"])
    new_store(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def call(out: str, *words: str) -> list[str]:
    return ["no-dev", "small.toml=good", "poor.toml", "--split", "train", "--out", out, "--experiment", out, *words]


@pytest.fixture(scope="module")
def compared(here: Path, cluster: None) -> Path:
    """The folder of a comparison of a recipe that learns with one that does not."""
    assert compare.main(call("compared", "--seeds", "1")) == 0
    return here / "compared"


@pytest.mark.ray
def test_the_recipe_that_learns_is_named_with_the_f1_of_evaluate(compared: Path, tmp_path: Path) -> None:
    found = json.loads((compared / "comparison.json").read_text())
    assert found["verdict"] == "good is the best: its f1 is higher than that of each other recipe beyond chance."
    good, poor = found["recipes"]
    assert (good["name"], poor["name"]) == ("good", "poor")
    assert good["f1"]["value"] > 0.5 > poor["f1"]["value"]
    assert set(good["noisy"]) == {"0.05", "0.1"}
    assert good["milliseconds"] > 0
    assert good["coverage"] is None, "these recipes answer no fields"
    report = tmp_path / "report.json"
    for row in (good, poor):
        folder = str(compared / row["name"] / "seed=1")
        assert evaluate.main([folder, "no-dev", "--split", "train", "--json", str(report)]) == 0
        metrics = json.loads(report.read_text())["metrics"]
        assert row["f1"]["value"] == pytest.approx(metrics["f1"])
        assert row["calibration_error"] == pytest.approx(metrics["ece"])


@pytest.mark.ray
def test_the_report_has_the_documents_with_pictures(compared: Path) -> None:
    page = (compared / "report.html").read_text()
    assert "good finds more of these documents" in page
    assert "receipt-" in page
    assert page.count("data:image/png;base64,") > 1
    assert "http" not in page


@pytest.mark.ray
def test_the_comparison_has_a_run_above_those_of_its_trials(compared: Path) -> None:
    client = MlflowClient(tracking_uri=stores.default_uri())
    runs = client.search_runs([client.get_experiment_by_name("compared").experiment_id])
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    trials = [run for run in runs if run is not parent]
    assert {run.info.run_name for run in trials} == {"good seed=1", "poor seed=1"}
    assert {run.data.tags["mlflow.parentRunId"] for run in trials} == {parent.info.run_id}
    assert {run.info.status for run in runs} == {"FINISHED"}
    by_name = ["train annotation by name/f1.good", "train annotation by name/f1.poor"]
    assert set(parent.data.metrics) == {"train annotation/f1", *by_name}
    assert parent.data.metrics["train annotation/f1"] == parent.data.metrics[by_name[0]], "that of the best"
    assert (parent.data.tags["data"], parent.data.tags["arch"]) == ("no-dev", "skimformer")
    for trial in trials:
        name = str(trial.info.run_name).removesuffix(" seed=1")
        of_parent = parent.data.metrics[f"train annotation by name/f1.{name}"]
        of_trial = trial.data.metrics["train annotation/f1"]
        assert of_trial == pytest.approx(of_parent, rel=1e-12), "with one seed, the model's is the recipe's"
    assert {file.path for file in client.list_artifacts(parent.info.run_id)} == {"comparison.json", "report.html"}


@pytest.mark.ray
def test_a_second_call_trains_and_measures_nothing(compared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file: file.stat().st_mtime_ns for file in compared.glob("*/seed=1/*")}
    (compared / "report.html").unlink()
    assert main(["compare", *call("compared", "--seeds", "1")]) == 0
    assert {file: file.stat().st_mtime_ns for file in compared.glob("*/seed=1/*")} == before
    assert json.loads(capsys.readouterr().out) == json.loads((compared / "comparison.json").read_text())
    assert (compared / "report.html").exists()
    assert len([*compared.glob("examples-*")]) == 1, "recipes that differ only in training share their examples"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["small.toml", "--architectures", "lambert"], "there is one recipe and one architecture; give two or more"),
        (["small.toml", "--architectures", "lambert", "gpt"], "model.arch: unknown name 'gpt'"),
        (["small.toml", "small.toml"], r"two recipes are called 'small-entities'; give each a name of its own"),
        (["small.toml=a/b", "poor.toml"], "names a folder and so has no '/'"),
        (
            ["small.toml", "poor.toml", "--init", "other=runs/minilm"],
            "--init names other; the compared recipes are small",
        ),
        (["small.toml", "poor.toml", "--init", "=runs/minilm"], "must be CHECKPOINT, or NAME=CHECKPOINT"),
        (["small.toml", "poor.toml=other", "--split", "test"], "pages available: 12 in train, 3 in dev"),
        (
            ["small.toml", "finetune-sroie", "--steps", "80"],
            r"have different \[task\.fields\]; give all recipes the same",
        ),
        (
            ["small.toml", "pretrain-tiny", "--steps", "1000"],
            "pretrain-tiny trains task masked_lm, which is not measured",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_made(words: list[str], message: str, here: Path) -> None:
    with pytest.raises(InputError, match=message):
        compare.main(["ingested", *words, "--out", "refused"])
    assert not (here / "refused").exists()


@pytest.mark.ray
@pytest.mark.slow
def test_trainings_of_equal_minutes_have_the_steps_that_fit(here: Path, cluster: None) -> None:
    wide = (
        (here / "small.toml")
        .read_text()
        .replace("small-entities", "wide")
        .replace("feed_forward = ", "feed_forward = 1")
    )
    (here / "wide.toml").write_text(wide)
    assert wide != (here / "small.toml").read_text()
    words = ["small.toml", "wide.toml", "--split", "train", "--out", "minutes", "--seeds", "1", "--minutes", "0.05"]
    assert compare.main(["ingested", *words]) == 0
    for name in ("small-entities", "wide"):
        pace = json.loads((here / "minutes/timed" / name / "pace.json").read_text())["seconds_per_step"]
        train = json.loads((here / "minutes" / name / "seed=1/recipe.json").read_text())["train"]
        assert train["steps"] == int(0.05 * 60 / pace) > 0
    before = (here / "minutes/comparison.json").stat().st_mtime_ns
    assert compare.main(["ingested", *words]) == 0, "the same command takes the steps that were measured"
    assert (here / "minutes/comparison.json").stat().st_mtime_ns > before


def test_a_recipe_that_starts_from_a_checkpoint_has_its_vocabulary(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ingested", "small.toml=started", "poor.toml", "--init", "started=runs/minilm", "--out", "planned"]
    assert compare.main([*words, "--dry-run"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["recipe"]["tokenizer"]["path"] == str(here / "runs/minilm")
    assert (shown["plan"]["dev pages"], shown["plan"]["trainings"], shown["plan"]["steps"]) == (3, 6, 480)
    with pytest.raises(CheckpointError, match="no tokenizer"):
        compare.main([*words, "--init", "poor=nowhere", "--dry-run"])


def test_a_single_recipe_is_compared_with_several_architectures(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["ingested", "small.toml", "--init", "runs/minilm", "--size", "minilm", "--set", "model.radius=32"]
    assert compare.main([*words, "--out", "planned", "--dry-run"]) == 0
    shown = json.loads(capsys.readouterr().out)
    names = ["bert", "layoutlm", "lilt", "layoutlmv3", "lambert", "formnet", "skimformer"]
    assert shown["plan"]["recipes"] == [*names, "skim_embeddings", "pyramidion"]
    assert (shown["recipe"]["model"]["model_type"], shown["recipe"]["model"]["hidden"]) == ("bert", 384)
    assert shown["recipe"]["tokenizer"]["path"] == str(here / "runs/minilm")
    words += ["--architectures", "formnet", "lambert", "--out", "planned", "--dry-run"]
    assert compare.main(words) == 0
    model = json.loads(capsys.readouterr().out)["recipe"]["model"]
    assert (model["core"], model["radius"], model["dropout"]) == ("bert", 32, 0.1), "only --set changes a size"


def test_pyramidion_pools_nothing_where_each_word_needs_a_label() -> None:
    tagger, summariser = recipe("entities"), recipe("summary")
    assert with_architecture(tagger, "pyramidion", "tiny", {}).model["encoder"] == "blockwise"
    assert with_architecture(tagger, "pyramidion", "tiny", {"encoder": "transpooler"}).model["encoder"] == "transpooler"
    assert with_architecture(summariser, "pyramidion", "tiny", {}).model["encoder"] == "deep_pyramidion"


def test_different_steps_are_refused_unless_one_number_is_given(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "longer.toml").write_text((here / "poor.toml").read_text().replace("steps = 80", "steps = 90"))
    words = ["ingested", "small.toml=short", "longer.toml=long", "--out", "planned", "--dry-run"]
    with pytest.raises(InputError, match=r"different train\.steps \(short 80, long 90\); give one number for all"):
        compare.main(words)
    assert compare.main([*words, "--steps", "50"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["recipe"]["train"]["steps"], shown["plan"]["recipes"]) == (50, ["short", "long"])
    words += ["--seeds", "1", "--threads", "2", "--price", "0.05"]
    assert compare.main([*words, "--minutes", "30"]) == 0
    estimate = json.loads(capsys.readouterr().out)["plan"]["estimate"]
    assert (estimate["core hours"], estimate["cost"]) == ("2", "0.1")
    with pytest.raises(InputError, match="--price needs --minutes"):
        compare.main([*words, "--steps", "50"])
    assert not (here / "planned").exists()
