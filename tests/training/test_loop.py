"""The loop learns, gives the same losses for any number of workers, resumes exactly, and stops early."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import TrainingError
from layoutray.tasks import TagsWords
from layoutray.tasks.masked_lm import MaskedLanguageModel
from layoutray.training import loop, resume, world
from layoutray.training.feed import recipe_feed
from layoutray.training.inputs import open_split
from layoutray.training.job import Job
from tests.jobs import NO_DROPOUT, elsewhere, job, pages, recipe
from tests.training.runs import Series, StopAfter, alone, in_processes, under_torchrun


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Twenty steps of MVLM with the paper's dropout, evaluated and saved on the way."""
    return job(tmp_path_factory.mktemp("masked"), recipe("masked_lm", evaluate_every=10, checkpoint_every=5))


@pytest.fixture(scope="module")
def whole(masked: Job, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Series]:
    """The checkpoint of the job that is trained without interruption, and what it reports."""
    out = tmp_path_factory.mktemp("whole") / "checkpoint"
    return out, alone(elsewhere(masked, out))


@pytest.mark.parametrize(
    ("task", "processes", "train"),
    [pytest.param("masked_lm", 2, under_torchrun, marks=pytest.mark.slow), ("entities", 3, in_processes)],
)
def test_every_loss_is_the_same_in_one_process_and_in_several(
    task: str, processes: int, train: Callable[[Job, int], Series], tmp_path: Path
) -> None:
    settings = recipe(task, evaluate_every=10, micro_batch_size=2, learning_rate=3e-3)
    assert settings.arch_config.dropout == 0.1, "with dropout on"
    one = job(tmp_path, settings)
    single, several = alone(one), train(elsewhere(one, tmp_path / "several"), processes)
    assert [step for step, _ in several["loss"]] == list(range(1, 21))
    for name in ("loss", "dev.loss", "dev.f1", "learning_rate"):
        assert several.get(name, []) == [
            (step, pytest.approx(value, abs=1e-5)) for step, value in single.get(name, [])
        ], name
    assert single["loss"][-1][1] < single["loss"][0][1] - 0.1, "and it learns meanwhile"


@pytest.mark.parametrize("stopped_after", [5, pytest.param(8, marks=pytest.mark.slow), 14])
def test_a_resumed_run_repeats_the_uninterrupted_one_to_the_bit(
    masked: Job, whole: tuple[Path, Series], stopped_after: int, tmp_path: Path
) -> None:
    uninterrupted, series = whole
    halted = elsewhere(masked, tmp_path / "halted")
    alone(halted, also=StopAfter(stopped_after))
    rest = alone(halted, resume_from=halted.out / "state" if stopped_after > 5 else None)
    saved = 5 * ((stopped_after - 1) // 5)
    assert [step for step, _ in rest["loss"]] == list(range(saved + 1, 21))
    for name in ("loss", "dev.loss", "dev.perplexity", "learning_rate"):
        first = saved + (not name.startswith("dev."))  # the state is saved before its evaluation, which is repeated
        assert rest[name] == [(step, value) for step, value in series[name] if step >= first], name
    assert checkpoint.load(halted.out).version == checkpoint.load(uninterrupted).version, "the weights are equal"


def test_each_step_has_its_own_windows_masks_and_dropout(tmp_path: Path) -> None:
    losses = [value for _, value in alone(job(tmp_path, recipe("masked_lm", steps=3, learning_rate=0.0)))["loss"]]
    assert len(set(losses)) == 3


def test_accumulated_micro_batches_equal_one_large_batch(tmp_path: Path) -> None:
    settings = {size: recipe("entities", model=NO_DROPOUT, micro_batch_size=size, clip=0.5) for size in (2, 8)}
    losses = {size: alone(job(tmp_path / str(size), chosen))["loss"] for size, chosen in settings.items()}
    assert losses[2] == [(step, pytest.approx(value, abs=1e-5)) for step, value in losses[8]]


def test_packed_windows_and_a_budget_of_tokens_give_the_losses_of_padded_ones(tmp_path: Path) -> None:
    plain = {"model": NO_DROPOUT, "micro_batch_size": 4, "evaluate_every": 10}
    made = {"padded": plain, "packed": plain | {"windows": "packed"}, "budget": plain | {"micro_batch_tokens": 64}}
    series = {name: alone(job(tmp_path / name, recipe("entities", **keys))) for name, keys in made.items()}
    for name in ("packed", "budget"):
        for metric in ("loss", "dev.f1"):
            assert series[name][metric] == [
                (step, pytest.approx(value, abs=1e-5)) for step, value in series["padded"][metric]
            ], (name, metric)


def test_lengths_in_multiples_change_no_loss(tmp_path: Path) -> None:
    settings = {multiple: recipe("masked_lm", model=NO_DROPOUT, pad_to_multiple_of=multiple) for multiple in (1, 32)}
    series = {multiple: alone(job(tmp_path / str(multiple), chosen)) for multiple, chosen in settings.items()}
    for name in ("loss", "dev.loss"):
        assert series[32][name] == [(step, pytest.approx(value, abs=1e-5)) for step, value in series[1][name]], name


@pytest.mark.slow
def test_packed_windows_with_fast_dropout_resume_to_the_bit_and_are_shared_by_processes(tmp_path: Path) -> None:
    settings = recipe(
        "masked_lm", windows="packed", dropout="fast", micro_batch_size=2, micro_batch_tokens=60, checkpoint_every=5
    )
    one = job(tmp_path, settings)
    whole = alone(one)["loss"]
    assert whole[-1][1] < whole[0][1] - 0.1, "and it learns meanwhile"
    halted = elsewhere(one, tmp_path / "halted")
    alone(halted, also=StopAfter(8))
    assert alone(halted, resume_from=halted.out / "state")["loss"] == whole[5:]
    several = in_processes(elsewhere(one, tmp_path / "several"), 2)["loss"]
    assert several == [(step, pytest.approx(value, abs=1e-5)) for step, value in whole]


def test_a_tiny_model_learns_its_pages_by_heart(tmp_path: Path) -> None:
    settings = recipe("entities", model=NO_DROPOUT, steps=120, learning_rate=5e-3, warmup_steps=10)
    made = pages(6)
    copies = [
        dataclasses.replace(page, split="dev", doc_id=f"copy-of-{page.doc_id}", source=f"copy of {page.source}")
        for page in made
    ]
    series = alone(job(tmp_path, settings, [*made, *copies]))
    assert series["loss"][-1][1] < 0.02
    assert series["dev.f1"] == [(120, 1.0)]


def test_a_dev_split_without_entities_has_no_f1_and_a_checkpoint_nevertheless(tmp_path: Path) -> None:
    first, *others = pages(12, 3)
    bare = [
        dataclasses.replace(page, words=tuple(dataclasses.replace(word, tag="O") for word in page.words))
        for page in others
    ]
    one = job(tmp_path, recipe("entities", model=NO_DROPOUT, steps=30, learning_rate=5e-3), [first, *bare])
    series = alone(one)
    assert not {"dev.f1", "dev.precision", "dev.recall"} & series.keys()
    assert checkpoint.load(one.out).metrics["dev.support"] == 0


def test_patience_ends_training_and_the_best_checkpoint_stays(tmp_path: Path) -> None:
    # A rate of zero: no evaluation is better than the first.
    one = job(tmp_path, recipe("masked_lm", steps=50, learning_rate=0.0, evaluate_every=2, patience=2))
    series = alone(one)
    assert [step for step, _ in series["dev.loss"]] == [2, 4, 6]
    assert series["loss"][-1][0] == 6
    assert checkpoint.load(one.out).metrics["step"] == 2
    assert resume.exists(one.out / "state"), "the last state is saved, wherever patience ends"


def test_the_kept_checkpoint_is_the_best_evaluation(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=24, learning_rate=0.05, evaluate_every=4))
    series = alone(one)
    step, best = min(series["dev.perplexity"], key=lambda pair: pair[1])
    loaded = checkpoint.load(one.out)
    assert (loaded.metrics["step"], loaded.metrics["dev.perplexity"]) == (step, best)
    dev = recipe_feed(loaded.recipe, loaded.tokenizer, open_split(one.examples, "dev"))
    task = loaded.recipe.task
    values = task.summarise(loop.observe(loaded.model, task, dev, world.single_process()), ())
    assert values["perplexity"] == pytest.approx(best, rel=1e-6), "the weights in it are those that were measured"


def test_the_kept_temperature_is_the_best_on_dev(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities", steps=60, learning_rate=5e-3, evaluate_every=20))
    alone(one)
    loaded = checkpoint.load(one.out)
    dev = recipe_feed(loaded.recipe, loaded.tokenizer, open_split(one.examples, "dev"))
    task = loaded.recipe.task
    assert isinstance(task, TagsWords)
    seen = loop.observe(loaded.model, task, dev, world.single_process())
    assert loaded.temperature != 1
    assert loaded.temperature == pytest.approx(task.temperature(seen), rel=1e-4)

    def loss(temperature: float) -> float:
        logits, gold = (
            torch.from_numpy(np.concatenate([getattr(one, column) for one in seen])) for column in ("scores", "gold")
        )
        return float(torch.nn.functional.cross_entropy(logits / temperature, gold.long()))

    # Nearly: a word that a window cuts is twice in here, and once in what was fitted.
    assert loss(loaded.temperature) < min(loss(1.0), loss(1.1 * loaded.temperature), loss(loaded.temperature / 1.1))


def test_clipping_bounds_the_update(tmp_path: Path) -> None:
    """Adam's first step ignores the gradient's scale; clipping after the step would change the second."""
    settings = {clip: recipe("entities", steps=3, clip=clip, model=NO_DROPOUT) for clip in (0.0, 1e9, 1e-3)}
    losses = {clip: alone(job(tmp_path / str(clip), chosen))["loss"] for clip, chosen in settings.items()}
    assert losses[0.0] == losses[1e9]
    assert losses[0.0][0] == losses[1e-3][0]
    assert losses[0.0][2] != losses[1e-3][2]


def test_a_loss_that_is_not_finite_ends_training(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=9, learning_rate=1e30, checkpoint_every=1, evaluate_every=9))
    with pytest.raises(TrainingError, match=r"the loss of step 2 is nan, .* nan; the state of step 1 is kept"):
        alone(one)


@pytest.mark.parametrize("due", ["checkpoint_every", "evaluate_every"])
def test_a_loss_that_is_not_finite_is_never_saved_however_rare_reports_are(due: str, tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=9, learning_rate=1e30, report_every=9, **{due: 3}))
    with pytest.raises(TrainingError, match=r"the loss of step 2 is nan, .*; no state was saved before; lower train\."):
        alone(one)
    assert not resume.exists(one.out / "state")
    assert not (one.out / "model.safetensors").exists()


def test_rare_reports_have_the_mean_of_their_steps_and_change_no_weights(
    masked: Job, whole: tuple[Path, Series], tmp_path: Path
) -> None:
    rare = recipe("masked_lm", evaluate_every=10, checkpoint_every=5, report_every=3)
    out, every = whole
    seldom = alone(Job(recipe=rare, examples=masked.examples, out=tmp_path / "seldom"))
    reported = (3, 5, 6, 9, 10, 12, 15, 18, 20)  # saves and evaluations come after a report
    losses = [value for _, value in every["loss"]]
    means = [statistics.fmean(losses[first:last]) for first, last in itertools.pairwise((0, *reported))]
    assert seldom["loss"] == [(step, pytest.approx(mean)) for step, mean in zip(reported, means, strict=True)]
    assert seldom["dev.loss"] == every["dev.loss"]
    files = [folder / "model.safetensors" for folder in (out, tmp_path / "seldom")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_rare_reports_are_of_all_processes(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", micro_batch_size=2, report_every=4, steps=10))
    single, several = alone(one), in_processes(elsewhere(one, tmp_path / "several"), 2)
    assert several["loss"] == [(step, pytest.approx(value, abs=1e-5)) for step, value in single["loss"]]
    assert [step for step, _ in several["loss"]] == [4, 8, 10]


def test_an_objective_that_is_always_nan_ends_training(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1, learning_rate=1e30))
    with pytest.raises(TrainingError, match=r"dev\.perplexity was not finite in any evaluation"):
        alone(one)


def test_an_evaluation_that_is_nan_is_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=6, evaluate_every=2))
    summarise, seen = MaskedLanguageModel.summarise, []

    def first_is_nan(*arguments: Any) -> dict[str, float]:
        seen.append(summarise(*arguments))
        return seen[0] | {"perplexity": math.nan} if len(seen) == 1 else seen[-1]

    monkeypatch.setattr(MaskedLanguageModel, "summarise", first_is_nan)
    alone(one)
    assert len(seen) == 3
    assert checkpoint.load(one.out).metrics["step"] in (4, 6)
