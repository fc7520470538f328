"""The state between two steps survives being killed while the next one is written."""

from pathlib import Path

import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import CheckpointError
from layoutray.tasks import TaskModel
from layoutray.training import resume
from layoutray.training.optimizer import adamw
from layoutray.training.resume import TrainingProgress
from tests.jobs import recipe, vocabulary

VOCABULARY = vocabulary()


def trained(task: str = "masked_lm", steps: int = 2) -> tuple[TaskModel, torch.optim.Optimizer]:
    chosen = recipe(task)
    model = checkpoint.build_model(chosen, VOCABULARY, ("O", "B-a", "I-a"))
    optimizer = adamw(model, chosen.train)
    for step in range(steps):
        torch.manual_seed(step)
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
    return model, optimizer


def test_weights_optimiser_and_progress_come_back_exactly(tmp_path: Path) -> None:
    model, optimizer = trained()
    progress = TrainingProgress(step=2, best=1.5, best_step=1, worse=1)
    resume.save(tmp_path, model, optimizer, progress)
    other, its = trained(steps=0)
    assert resume.load(tmp_path, other, its) == progress
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    mine, theirs = optimizer.state_dict()["state"], its.state_dict()["state"]
    assert mine.keys() == theirs.keys()
    assert all(
        torch.equal(value, theirs[index][name]) for index, values in mine.items() for name, value in values.items()
    )


def test_a_killed_save_leaves_the_state_of_before(tmp_path: Path) -> None:
    model, optimizer = trained()
    resume.save(tmp_path, model, optimizer, TrainingProgress(step=2))
    (tmp_path / "model-4.safetensors").write_bytes(b"half a fi")
    (tmp_path / "progress.json.part").write_text('{"step')
    assert resume.exists(tmp_path)
    assert resume.load(tmp_path, *trained(steps=0)).step == 2


def test_only_the_last_state_takes_room(tmp_path: Path) -> None:
    for step in (2, 4):
        resume.save(tmp_path, *trained(), TrainingProgress(step=step))
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "model-4.safetensors",
        "optimizer-4.safetensors",
        "progress.json",
    ]


def test_an_unfinished_first_save_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "model-1.safetensors").write_bytes(b"half a fi")
    assert not resume.exists(tmp_path)
    assert not resume.exists(tmp_path / "nowhere")


def test_the_state_of_another_model_is_refused(tmp_path: Path) -> None:
    resume.save(tmp_path, *trained(), TrainingProgress(step=2))
    with pytest.raises(CheckpointError, match=r"missing head\.classifier"):
        resume.load(tmp_path, *trained("entities", steps=0))
