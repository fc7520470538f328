"""Real Ray Tune: a trial trains as one process does, and what happens to one is no matter to the others."""

import dataclasses
import functools
import json
import math
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from layoutray.cluster import sweep
from layoutray.cluster.sweep import Share, Trial, Value
from layoutray.errors import InputError
from layoutray.training import inputs
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import CheckedJob
from layoutray.training.job import Job
from layoutray.training.reporter import JsonLines
from layoutray.training.train import train_in_place
from tests.jobs import elsewhere, job, recipe
from tests.training.runs import alone, read_history


def by_seed(folder: Path, *seeds: int) -> dict[Value, Job]:
    """Jobs that differ in their seed; the same examples for all."""
    one = job(folder, recipe("masked_lm", steps=4, evaluate_every=2))
    return {
        seed: dataclasses.replace(one, recipe=dataclasses.replace(one.recipe, seed=seed), out=folder / f"seed={seed}")
        for seed in seeds
    }


def checked(trials: Mapping[Value, Job]) -> dict[Value, CheckedJob]:
    return {value: inputs.check(one, workers=1) for value, one in trials.items()}


def train(trials: Mapping[Value, Job], value: Value, device: torch.device) -> None:
    trials[value].out.mkdir()
    train_in_place(
        inputs.prepare(trials[value], 1), worlds.single_process(device), JsonLines(trials[value].out / "history.jsonl")
    )


def train_only_the_last(trials: Mapping[Value, Job], value: Value, device: torch.device) -> None:
    if value == 2:
        raise InputError("two is a bad\nnumber")
    if value == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    train(trials, value, device)


@pytest.mark.ray
@pytest.mark.usefixtures("cluster_to_harm")
def test_failed_trials_are_kept_and_the_next_trains_as_one_process_does(tmp_path: Path) -> None:
    trials, heard = by_seed(tmp_path, 2, 3, 4), list[Value]()
    work = functools.partial(train_only_the_last, trials)
    raised, killed, trained = sorted(
        sweep.train(checked(trials), tmp_path, Share(), work, heard.append), key=lambda trial: trial.value
    )
    expected = alone(elsewhere(trained.job, tmp_path / "alone"))
    assert trained.error == ""
    assert trained.metric == pytest.approx(min(value for _, value in expected["dev.perplexity"]), rel=1e-5)
    assert trained.seconds is not None
    assert trained.seconds > 0
    assert [step for step, _ in read_history(trained.job.out / "history.jsonl")["loss"]] == [1, 2, 3, 4]
    assert (raised.metric, raised.seconds, raised.error) == (None, None, "InputError: two is a bad")
    assert "in train_only_the_last" in raised.trace
    assert (killed.metric, killed.seconds) == (None, None)
    assert killed.error.startswith("ActorDiedError: ")
    assert sorted(heard) == [2, 3, 4]
    assert not (tmp_path / "ray").exists(), "Tune's notes are gone"


@pytest.mark.ray
@pytest.mark.usefixtures("cluster")
def test_what_cannot_be_compared_is_refused_before_any_trial(tmp_path: Path) -> None:
    heard = list[Value]()
    refused = functools.partial(sweep.train, out=tmp_path, work=print, ended=heard.append)
    trials = by_seed(tmp_path / "more", 1, 2)
    with pytest.raises(InputError, match="a trial asks for 64 CPU, this cluster has 4"):
        refused(checked(trials), share=Share(cpus=64))
    with pytest.raises(InputError, match="was encoded for task masked_lm"):
        refused(checked({**trials, 3: dataclasses.replace(trials[1], recipe=recipe("entities"))}), share=Share())
    assert heard == []


def ended(value: Value, metric: float | None, task: str = "entities") -> Trial:
    return Trial(value, Job(recipe(task), "", Path()), metric, error="" if metric is not None else "it failed")


def test_the_best_comes_first_and_among_equals_the_smaller_value() -> None:
    trials = [ended(512, 0.5), ended(64, None), ended(256, 0.75), ended(128, 0.75), ended(32, 0.25)]
    assert [trial.value for trial in sweep.best_first(trials)] == [128, 256, 512, 32, 64]


def test_a_small_perplexity_is_good() -> None:
    trials = [ended(1e-3, 20.0, "masked_lm"), ended(1e-4, None, "masked_lm"), ended(1e-2, 10.0, "masked_lm")]
    assert [trial.value for trial in sweep.best_first(trials)] == [1e-2, 1e-3, 1e-4]


@pytest.mark.parametrize("best", [math.nan, math.inf, "NaN", "Infinity"])
def test_a_training_that_has_diverged_has_no_metric(best: float | str, tmp_path: Path) -> None:
    (tmp_path / jobs.FINISHED).write_text(json.dumps({"step": 4, "best": best}))
    trial = sweep.finished(1, Job(recipe("masked_lm"), "", tmp_path))
    assert (trial.metric, trial.error) == (None, f"dev.perplexity is {float(best)}: the training has diverged")


@pytest.mark.parametrize(
    ("share", "message"),
    [
        ({"at_once": -1}, "at_once is -1; it must be at least 0"),
        ({"cpus": 0}, "cpus is 0; it must be above 0"),
        ({"gpus": -1}, "gpus is -1; it must be at least 0"),
        ({"threads": 0}, "threads is 0; it must be at least 1"),
        ({"max_failures": -1}, "max_failures is -1; it must be at least 0"),
    ],
)
def test_an_impossible_share_is_refused(share: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Share(**share)
