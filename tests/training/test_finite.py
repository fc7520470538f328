"""A value that is not finite ends a training, is never written, and leaves the last good state."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from layoutray import checkpoint
from layoutray.errors import CheckpointError, TrainingError
from layoutray.recipe import recipes
from layoutray.training import resume
from layoutray.training import world as worlds
from layoutray.training.inputs import TrainingInputs, prepare
from layoutray.training.job import Job
from layoutray.training.loop import Loop
from layoutray.training.reporter import CompositeReporter, JsonLines
from layoutray.training.train import train_in_place
from tests import fork_server
from tests.cluster.shared_ray import free_port
from tests.jobs import elsewhere, job, recipe
from tests.training.runs import read_history

PARTS = 2
"""Micro-batches of a step."""


def poison_gradient(inputs: TrainingInputs, step: int, value: float = math.inf, parts: int = PARTS) -> None:
    """Make one value of the gradient of a `step` (from 1) of this call `value`.

    Args:
        parts: micro-batches of a step that this process computes.
    """
    seen: list[int] = []

    def hook(gradient: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        if len(seen) != step * parts:
            return gradient
        poisoned = gradient.clone()
        poisoned.view(-1)[0] = value
        return poisoned

    [*inputs.model.parameters()][-1].register_hook(hook)


def run(one: Job, step: int = 0, value: float = math.inf) -> None:
    """Train in place, with a bad gradient in a `step` of this call; 0 is none."""
    inputs = prepare(one, 1)
    if step:
        poison_gradient(inputs, step, value)
    train_in_place(inputs, worlds.single_process(), JsonLines(one.out / "history.jsonl"))


def tensors_in(folder: Path) -> Mapping[str, torch.Tensor]:
    return {
        f"{file.name} {name}": tensor
        for file in folder.rglob("*.safetensors")
        for name, tensor in safetensors.torch.load_file(file).items()
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, dict[str, list[tuple[int, float]]]]:
    """A job, and the losses of its training without a bad gradient."""
    one = job(tmp_path_factory.mktemp("plain"), recipe("masked_lm", steps=12, checkpoint_every=4, evaluate_every=6))
    run(one)
    return one, read_history(one.out / "history.jsonl")


@pytest.mark.parametrize(
    ("value", "settings"),
    [
        (math.inf, {}),
        pytest.param(math.inf, {"clip": 0.0}, marks=pytest.mark.slow),
        (math.nan, {"clip": 0.0, "report_every": 4}),
        (math.inf, {"precision": "bf16"}),
    ],
)
def test_an_infinite_gradient_with_a_finite_loss_leaves_the_last_good_state(
    value: float, settings: dict[str, Any], tmp_path: Path
) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=12, checkpoint_every=4, evaluate_every=6, **settings))
    run(elsewhere(one, tmp_path / "whole"))
    message = rf"the loss of step 8 is \d\S+, the norm of its gradient {value}; the state of step 4 is kept, and the "
    with pytest.raises(TrainingError, match=message + r"same command continues from it; if it fails again, lower"):
        run(one, step=8, value=value)
    assert json.loads((one.out / "state/progress.json").read_text())["step"] == 4
    kept = tensors_in(one.out)
    assert kept
    assert resume.not_finite(kept) == []
    with pytest.raises(TrainingError, match=r"the loss of step 5 is .* the state of step 4 is kept"):
        run(one, step=1)  # a rerun that fails before it has saved a state of its own
    run(one)
    whole, again = (read_history(folder / "history.jsonl") for folder in (tmp_path / "whole", one.out))
    assert again["loss"] == whole["loss"], "the rerun continues from the last good state"
    assert checkpoint.load(one.out).version == checkpoint.load(tmp_path / "whole").version


def test_before_the_first_state_none_is_kept(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=4, checkpoint_every=1))
    with pytest.raises(TrainingError, match=r"the norm of its gradient inf; no state was saved before; lower train"):
        run(one, step=1)
    assert tensors_in(one.out) == {}


@pytest.mark.parametrize("clip", [0.0, 1e-3])
def test_the_norm_of_the_gradient_is_reported_before_it_is_clipped(clip: float, tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1, clip=clip))
    inputs = prepare(one, 1)
    squares: list[float] = []
    for parameter in inputs.model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda it: squares.append(float(it.grad.double().square().sum())))
    train_in_place(inputs, worlds.single_process(), JsonLines(one.out / "history.jsonl"))
    of_step = squares[len(squares) // PARTS :]  # after the last micro-batch, the gradients are complete
    ((step, norm),) = read_history(one.out / "history.jsonl")["grad_norm"]
    assert (step, norm) == (1, pytest.approx(math.sqrt(sum(of_step)), rel=1e-4))
    assert norm > 1e-2


@pytest.mark.parametrize(("every", "what"), [("checkpoint_every", "state"), ("evaluate_every", "checkpoint")])
def test_a_weight_that_is_not_finite_is_never_written(
    every: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(tmp_path, recipe("entities", steps=9, **{every: 3}))
    train = Loop._steps_to_report

    def overflow(self: Loop, batches: Any) -> None:
        """As an update that is too large: in the bias of the label whose scores become NaN."""
        train(self, batches)
        if self.progress.step == 6:
            self.model.encoder.register_buffer("unused", torch.tensor([math.inf]))

    monkeypatch.setattr(Loop, "_steps_to_report", overflow)
    monkeypatch.setattr(Loop, "_evaluate_if_due", better_each_time(Loop._evaluate_if_due))
    with pytest.raises(TrainingError, match=rf"the {what} of step 6 is not written: not finite are encoder\.unused"):
        run(one)
    assert resume.not_finite(tensors_in(one.out)) == []
    if what == "state":
        assert json.loads((one.out / "state/progress.json").read_text())["step"] == 3
    else:
        assert checkpoint.load(one.out).metrics["step"] == 3


def better_each_time(evaluate: Any) -> Any:
    """An evaluation that always is the best so far."""

    def changed(self: Loop, keep_best: Any) -> None:
        self.progress.best = None
        evaluate(self, keep_best)

    return changed


def test_a_state_of_an_earlier_version_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=8, checkpoint_every=4))
    with pytest.raises(TrainingError):
        run(one, step=6)
    (file,) = (one.out / "state").glob("model-4.safetensors")
    weights = safetensors.torch.load_file(file)
    good = file.read_bytes()
    safetensors.torch.save_file({name: tensor * math.nan for name, tensor in weights.items()}, file)
    with pytest.raises(CheckpointError, match=rf"{one.out}/state holds a state with values that are not finite"):
        run(one)
    with pytest.raises(CheckpointError, match="not finite"):
        resume.load(one.out / "state", *model_and_optimizer(one))
    (tmp_path / "kept").mkdir()
    with pytest.raises(CheckpointError, match="not finite"):
        resume.copy(one.out / "state", tmp_path / "kept")
    assert not [*(tmp_path / "kept").iterdir()]
    file.write_bytes(good)
    run(one)


def model_and_optimizer(one: Job) -> tuple[Any, Any]:
    model = prepare(one, 1).model
    return model, torch.optim.AdamW(model.parameters())


def second_fails(examples: str, out: str, values: str) -> None:
    """The work of a process: in step 8, the gradient of the second process is infinite."""
    torch.set_num_threads(1)
    one = Job(recipe=recipes.from_dict(json.loads(values)), examples=examples, out=Path(out))
    with worlds.from_environment(0) as world:
        inputs = prepare(one, world.size)
        if world.rank == 1 and not Path(out, "failed").exists():
            poison_gradient(inputs, step=8, parts=1)
        reporter = CompositeReporter([JsonLines(Path(out, "history.jsonl"))] if world.leads else [])
        try:
            train_in_place(inputs, world, reporter)
        except TrainingError as error:
            Path(out, f"failed-{world.rank}").write_text(str(error))


def test_all_processes_end_alike_if_the_gradient_of_one_is_infinite(
    plain: tuple[Job, dict[str, list[tuple[int, float]]]], tmp_path: Path
) -> None:
    one = elsewhere(plain[0], tmp_path / "shared")
    one.out.mkdir()
    for calls in (1, 2):
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2"}
        arguments = (one.examples, str(one.out), json.dumps(one.recipe.to_dict()))
        ranks = [{**place, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]
        started = [fork_server.start(second_fails, *arguments, environment=each) for each in ranks]
        assert [fork_server.exit_code(process) for process in started] == [0, 0]
        if calls == 1:
            first, second = ((one.out / f"failed-{rank}").read_text() for rank in range(2))
            assert first == second
            assert "the norm of its gradient inf; the state of step 4 is kept" in first
            (one.out / "failed").touch()
    again = read_history(one.out / "history.jsonl")
    assert again["loss"] == [(step, pytest.approx(value, abs=1e-5)) for step, value in plain[1]["loss"]]
