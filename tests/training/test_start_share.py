"""The mean of the weights before and after a training is what is evaluated and kept."""

from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import InputError
from layoutray.training.inputs import prepare
from layoutray.training.job import Job
from tests.jobs import job, recipe
from tests.training.runs import StopAfter, alone


def weights(folder: str | Path) -> dict[str, torch.Tensor]:
    return dict(checkpoint.load(folder).model.named_parameters())


def continued(folder: Path, start: Job, **train: float) -> Job:
    chosen = recipe("entities", vocabulary=str(start.out), steps=4, checkpoint_every=2, **train)
    return job(folder, chosen, init=(str(start.out),))


@pytest.fixture
def start(tmp_path: Path) -> Job:
    trained = job(tmp_path / "start", recipe("entities", steps=2))
    alone(trained)
    return trained


def test_kept_weights_are_the_mean_and_learning_goes_on_from_those_learned(start: Job, tmp_path: Path) -> None:
    plain, mean = continued(tmp_path / "plain", start), continued(tmp_path / "mean", start, start_share=0.25)
    losses = alone(plain)["loss"]
    alone(mean, also=StopAfter(3))
    assert alone(mean, resume_from=mean.out / "state")["loss"] == losses[2:]
    first, learned, kept = (weights(one.out) for one in (start, plain, mean))
    assert kept.keys() == learned.keys()
    for name, tensor in kept.items():
        torch.testing.assert_close(tensor, 0.25 * first[name] + 0.75 * learned[name])
    assert any(not torch.equal(tensor, learned[name]) for name, tensor in kept.items())


def test_evaluations_between_steps_are_of_the_mean_and_change_nothing(start: Job, tmp_path: Path) -> None:
    once = continued(tmp_path / "once", start, start_share=0.5)
    often = continued(tmp_path / "often", start, start_share=0.5, evaluate_every=1)
    assert alone(once)["loss"] == alone(often)["loss"]


def test_a_share_without_a_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train\.start_share is 0\.5, but without --init"):
        prepare(job(tmp_path, recipe("entities", start_share=0.5)), 1)
