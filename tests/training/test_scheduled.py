"""An encoder that changes in the course of its training is told how far it is: LAMBERT, whose positions go."""

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from layoutray import checkpoint
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.training.job import Job
from tests.jobs import elsewhere, job, recipe
from tests.training.runs import StopAfter, alone, in_processes

LAMBERT = {"arch": "lambert", "hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64}
SHARE = "encoder.position_dropout.share"


def of(task: str, model: dict[str, Any] | None = None, vocabulary: str = "", **train: Any) -> Recipe:
    values = recipe(task, vocabulary=vocabulary, **train).to_dict()
    return recipes.from_dict(values | {"model": LAMBERT | (model or {})})


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Twelve steps of MVLM, saved after every third."""
    return job(tmp_path_factory.mktemp("masked"), of("masked_lm", steps=12, evaluate_every=6, checkpoint_every=3))


def share_in(folder: Path) -> float:
    (file,) = folder.glob("model-*.safetensors")
    return load_file(file)[SHARE].item()


def test_positions_go_over_the_first_half_of_training(masked: Job, tmp_path: Path) -> None:
    shares: dict[int, float] = {}
    for stopped_after in (4, 7, 10):
        halted = elsewhere(masked, tmp_path / str(stopped_after))
        alone(halted, also=StopAfter(stopped_after))
        shares[stopped_after] = share_in(halted.out / "state")
    # Of the last step that was done, counted from 0: the third, sixth and ninth.
    assert shares == {4: pytest.approx(2 * 2 / 12), 7: pytest.approx(2 * 5 / 12), 10: 1.0}


@pytest.mark.parametrize("stopped_after", [5, 8])
def test_a_resumed_run_drops_the_same_positions(masked: Job, stopped_after: int, tmp_path: Path) -> None:
    whole = alone(elsewhere(masked, tmp_path / "whole"))
    halted = elsewhere(masked, tmp_path / "halted")
    alone(halted, also=StopAfter(stopped_after))
    rest = alone(halted, resume_from=halted.out / "state")
    assert rest["loss"] == whole["loss"][-len(rest["loss"]) :]
    assert checkpoint.load(halted.out).version == checkpoint.load(tmp_path / "whole").version


def test_two_processes_drop_the_same_positions_as_one(masked: Job, tmp_path: Path) -> None:
    single, double = alone(elsewhere(masked, tmp_path / "one")), in_processes(elsewhere(masked, tmp_path / "two"), 2)
    for name in ("loss", "dev.loss"):
        assert double[name] == [(step, pytest.approx(value, abs=1e-5)) for step, value in single[name]], name


@pytest.mark.parametrize(("suppression", "shares"), [("linear", (1.0, 1.0)), ("none", (1.0, 0.0))])
def test_fine_tuning_does_not_bring_positions_back(
    masked: Job, suppression: str, shares: tuple[float, float], tmp_path: Path
) -> None:
    pretrained = elsewhere(masked, tmp_path / "pretrained")
    alone(pretrained)
    for init, share in zip(((str(pretrained.out),), ()), shares, strict=True):
        model = {"position_dropout": suppression}
        tuned = job(
            tmp_path / f"from {len(init)}", of("entities", model, vocabulary=str(pretrained.out), steps=3), init=init
        )
        alone(tuned)
        assert checkpoint.load(tuned.out).model.state_dict()[SHARE].item() == share
